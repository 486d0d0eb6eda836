{#
    What the change logs have rejected, on the terminal: by log and reason how many lines, how many of them are
    released, and the newest as examples, their texts shortened. Reads, and changes nothing. dbt run-operation
    quarantine_report --args '{source: shop, rows: 2}'
#}
{% macro quarantine_report(source=none, entity=none, rows=1) %}
    {%- if execute -%}
        {%- do alluvium._require_number_of_rows("quarantine_report", "rows", rows) -%}
        {{ return(alluvium._show_quarantine(alluvium._change_logs("quarantine_report", source, entity), rows)) }}
    {%- endif -%}
{% endmacro %}


{% macro _show_quarantine(logs, rows) %}
    {%- set built = [] -%}
    {%- for change_log in logs if load_relation(change_log.relation) is not none -%}
        {%- do built.append(change_log.relation) -%}
    {%- endfor -%}
    {%- if built -%}
        {%- do alluvium._show_query(
            ["change log", "reason", "lines", "released", "batch", "path", "line", "detail", "text"],
            alluvium._quarantine_report_sql(built, rows)
        ) -%}
    {%- else -%}
        {%- do log("quarantine_report: no change log is built yet", info=true) -%}
    {%- endif -%}
{% endmacro %}


{% macro _quarantine_report_sql(tables, rows) -%}
select
    change_log,
    reject_reason,
    if(row_number = 1, line_count, null) as line_count,
    if(row_number = 1, released_count, null) as released_count,
    batch,
    file_path,
    line,
    detail,
    text
from (
    select
        *,
        count(*) over (partition by change_log, reject_reason) as line_count,
        count_if(is_released) over (partition by change_log, reject_reason) as released_count,
        row_number() over (
            partition by change_log, reject_reason order by batch desc, file_path desc, line desc
        ) as row_number
    from (
        {%- for table in tables %}
        {{ alluvium._rejected_lines_sql(table) | indent(8) }}
        {%- if not loop.last %}
        union all
        {%- endif %}
        {%- endfor %}
    ) as rejected
) as numbered
where row_number <= {{ rows }}
order by change_log, reject_reason, row_number
{%- endmacro %}


{# The texts without line ends, which would break the table. #}
{% macro _rejected_lines_sql(table) -%}
select
    {{ alluvium._string_literal(table.render()) }} as change_log,
    rejected._cdc_reject_reason as reject_reason,
    rejected._cdc_batch as batch,
    rejected._cdc_file_path as file_path,
    rejected._cdc_line as line,
    coalesce(rejected._cdc_reject_detail, '') as detail,
    coalesce(
        regexp_replace(
            if(length(rejected._cdc_raw) > 80, concat(left(rejected._cdc_raw, 77), '...'), rejected._cdc_raw),
            '\\s+',
            ' '
        ),
        ''
    ) as text,
    {{ "released.released_at is not null" if alluvium._has_released_lines() else "false" }} as is_released
from {{ table }} as rejected
{%- if alluvium._has_released_lines() %}
left join {{ alluvium._released_lines() }} as released
    on {{ alluvium._is_release_of(table, "rejected") | indent(4) }}
{%- endif %}
where rejected._cdc_reject_reason is not null
{%- endmacro %}
