{#
    The post-hook of a change log. The ledger was level when the model compiled (_next_batch), so what it lacks is what
    was appended since. What is behind the log hears of a batch only when rows of it are there: the files may have
    vanished since they were listed, and then the number is given anew.
#}
{% macro record_applied_files() %}
    {%- set is_first = execute and alluvium._is_first_call("record_applied_files") -%}
    {%- do alluvium._set_generation(this) if is_first and alluvium._remembered("is_built_anew", this) -%}
    {%- if is_first and not alluvium._has_no_new_files() -%}
        {%- set known = alluvium._remembered("ledger_batch", this) -%}
        {%- set level = alluvium._latest_ledger_batch(this) if known is none else known -%}
        {%- do run_query(alluvium._record_files_sql(
            alluvium._file_ledger(), this, "_cdc_batch > " ~ level, is_of_this_run=true
        )) -%}
        {%- set recorded = alluvium._query_rows(alluvium._recorded_batches_sql(this, level)) -%}
        {%- do alluvium._remember("newest_batch", this, recorded[0].batch if recorded else level) -%}
        {%- if recorded -%}
            {%- do alluvium._announce_batch(this, recorded[0]) -%}
            {%- do alluvium._drop_superseded_rows(this) if alluvium._remembered("files_read_again", this) -%}
            {%- do alluvium._compact_entries(this, recorded[0].batch) -%}
            {%- set columns = alluvium._properties_of_columns() -%}
            {%- do alluvium._set_properties(this, columns) if columns -%}
        {%- endif -%}
        {%- do alluvium._check_offsets(this, level) -%}
    {%- elif is_first -%}
        {%- do alluvium._check_offsets(this, none) -%}
    {%- endif -%}
{% endmacro %}
