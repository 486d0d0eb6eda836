{#
    The on-run-end hook: `{{ alluvium.record_run(results) }}`. One insert a run, none where nothing is new; the
    figures are counted in the rows of the new batches and taken from Delta's own commits.
#}
{% macro record_run(results) %}
    {%- if execute and alluvium._is_run() and not flags.EMPTY -%}
        {%- set tables = alluvium._tables_to_record(results) -%}
        {%- if tables -%}
            {%- set records = alluvium._records_of_run(tables) -%}
            {%- do run_query(alluvium._record_tables_sql(records)) -%}
            {%- do alluvium._show_run(records) -%}
        {%- endif -%}
        {%- do alluvium._announce_warnings() -%}
    {%- endif -%}
    {%- do alluvium._announce_rejected_logs(results) if execute -%}
{% endmacro %}
