{#
    What the ledgers say, on the terminal: of each change log its files and lines, then what the newest runs did to each
    log and state. Reads, and changes nothing. dbt run-operation ledger_report --args '{source: shop, entity: orders,
    runs: 3}'
#}
{% macro ledger_report(source=none, entity=none, runs=5) %}
    {%- if execute -%}
        {%- do alluvium._require_number_of_rows("ledger_report", "runs", runs) -%}
        {{ return(alluvium._show_ledger(alluvium._change_logs("ledger_report", source, entity), runs)) }}
    {%- endif -%}
{% endmacro %}


{% macro _show_ledger(logs, runs) %}
    {%- if load_relation(alluvium._file_ledger()) is none -%}
        {% do alluvium._raise_invalid(
            "ledger_report", "ledger", alluvium._file_ledger().render(), "one that a build has made"
        ) %}
    {%- endif -%}
    {%- do alluvium._show_query(
        ["change log", "files", "lines", "changes", "control", "rejected", "batch", "newest entry"],
        alluvium._entries_report_sql(logs)
    ) -%}
    {%- if load_relation(alluvium._run_ledger()) is not none -%}
        {%- do alluvium._show_query(
            [
                "run", "table", "batch", "files", "lines", "changes", "rejected", "inserted", "updated", "deleted",
                "stale", "unresolved", "seconds"
            ],
            alluvium._runs_report_sql(alluvium._tables_of_logs(logs), runs),
        ) -%}
    {%- endif -%}
{% endmacro %}


{% macro _require_number_of_rows(caller_name, argument, given) %}
    {%- if given is not integer or given < 1 -%}
        {% do alluvium._raise_invalid(caller_name, argument, given, "a number from 1 on") %}
    {%- endif -%}
{% endmacro %}


{# The rows of a query as a table, headings in the order of its columns. #}
{% macro _show_query(headings, sql) %}
    {%- set rows = [] -%}
    {%- for row in alluvium._query_rows(sql) -%}
        {%- do rows.append(row.values() | list) -%}
    {%- endfor -%}
    {%- do alluvium._show_table(headings, rows) -%}
{% endmacro %}


{% macro _entries_report_sql(logs) -%}
select
    change_log,
    count(file_path) as file_count,
    sum(line_count) as line_count,
    sum(change_count) as change_count,
    sum(control_count) as control_count,
    sum(rejected_count) as rejected_count,
    max(batch) as batch,
    date_format(max(recorded_at), 'yyyy-MM-dd HH:mm:ss') as recorded_at
from {{ alluvium._file_ledger() }}
where change_log in ({{ alluvium._string_literals(logs | map(attribute="relation")) }})
group by change_log
order by change_log
{%- endmacro %}


{# The logs and the states that are built from them, which are what the ledger of runs has. #}
{% macro _tables_of_logs(logs) %}
    {%- set tables = logs | map(attribute="relation") | list -%}
    {%- for id in
        alluvium._models_behind(logs | map(attribute="node.unique_id") | list)
        if alluvium._is_state(graph.nodes[id]) -%}
        {%- do tables.append(alluvium._relation_of_node(graph.nodes[id])) -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}


{% macro _runs_report_sql(tables, runs) -%}
select
    date_format(recorded_at, 'yyyy-MM-dd HH:mm:ss') as recorded_at,
    table_name,
    batch,
    files,
    lines,
    changes,
    rejected,
    inserted,
    updated,
    deleted,
    stale,
    unresolved,
    cast(seconds as decimal(18, 1)) as seconds
from (
    select
        *,
        dense_rank() over (order by recorded_at desc, run_id) as run_number
    from {{ alluvium._run_ledger() }}
    where table_name in ({{ alluvium._string_literals(tables) }})
) as numbered
where run_number <= {{ runs }}
order by run_number, table_name
{%- endmacro %}
