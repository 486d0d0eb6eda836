{#
    Rows of one key with one sequence and different contents: which of them is newer, nothing says but the order of
    delivery. Of feeds of rows, whose sequence is declared.
#}
{% macro _tied_rows(change_log) %}
    {%- if not execute -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set feed = alluvium._feed_of_relation("tied_rows", change_log) -%}
    {%- do alluvium._require_one_of("tied_rows: source " ~ feed.name, "meta.cdc.shape", feed.shape, ["row"]) -%}
    {{ return(alluvium._tied_rows_sql(change_log, feed)) }}
{% endmacro %}


{% macro _tied_rows_sql(change_log, feed) -%}
select
    {{ alluvium._column_list(feed.key) | join(",\n    ") }},
    {{ alluvium._position_of_event(feed) }} as sequence,
    count(*) as row_count
from {{ change_log }}
where _cdc_kind = 'change'
{%- set grouped = alluvium._column_list(feed.key) + [alluvium._position_of_event(feed)] %}
group by {{ (grouped + (["_cdc_op = 'r'"] if feed.full_dumps else [])) | join(", ") }}
having count(distinct struct(_cdc_op, _cdc_unavailable_columns, {{ alluvium._image_of_event(feed) }})) > 1
{%- endmacro %}
