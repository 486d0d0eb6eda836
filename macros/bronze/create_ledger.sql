{#
    A ledger, empty or as it is. A run that was killed between Delta's first commit and the catalog's entry has left a table that no catalog
    names, and `create table` refuses its folder for good; so does a catalog that has lost its tables. Such a table is entered again as it is.
    `create or replace` would take the folder, and what is in it: without the purged keys their rows would come back in silence.
#}
{% macro create_ledger(ledger, statement) %}
    {%- do alluvium.register_ledger(ledger) -%}
    {%- do run_query(statement) -%}
{% endmacro %}


{# Asks for nothing where the catalog has the table, by dbt's own list of relations. Found and entered, it is put into that list. #}
{% macro register_ledger(ledger) %}
    {%- set folder = alluvium.folder_of_lost_ledger(ledger) if load_relation(ledger) is none else none -%}
    {%- if folder -%}
        {%- do log("Found " ~ ledger ~ " at " ~ folder ~ ", which the catalog does not know; entered again", info=true) -%}
        {%- do run_query("create table if not exists " ~ ledger ~ " using delta location " ~ alluvium.string_literal(folder)) -%}
        {%- do adapter.cache_added(ledger.incorporate(type="table")) -%}
    {%- endif -%}
{% endmacro %}


{#
    Where a table's files would be, if Delta has committed anything there; none else. A table of binaryFile's lists them, since SQL has no other way
    to ask of a folder that may not be there. One that a killed run has left is taken, and dropped, by the next.
#}
{% macro folder_of_lost_ledger(ledger) %}
    {%- set location = alluvium.location_of_schema(ledger.schema) -%}
    {%- if not location -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set folder = location.rstrip("/") ~ "/" ~ ledger.identifier -%}
    {%- set commits = ledger.incorporate(path={"identifier": ledger.identifier ~ "__commits"}) -%}
    {%- do run_query(alluvium.create_commits_sql(commits, folder)) -%}
    {%- do run_query("refresh table " ~ commits) -%}
    {%- set is_there = alluvium.query_rows("select count(*) as commit_count from " ~ commits)[0].commit_count > 0 -%}
    {%- do run_query("drop table " ~ commits) -%}
    {{ return(folder if is_there else none) }}
{% endmacro %}


{% macro create_commits_sql(commits, folder) -%}
    create table if not exists {{ commits }}
    using binaryFile
    options (
        'pathGlobFilter' '*.json',
        'path' {{ alluvium.string_literal(folder ~ "/_delta_log") }}
    )
{%- endmacro %}


{# The catalog has a URI, an option wants a path; `+` is itself in both, and a space to url_decode. #}
{% macro location_of_schema(schema) %}
    {%- for row in alluvium.query_rows("describe schema " ~ schema) if row.info_name == "Location" -%}
        {%- if "%" not in row.info_value -%}
            {{ return(row.info_value) }}
        {%- endif -%}
        {%- set uri = alluvium.string_literal(row.info_value.replace("+", "%2B")) -%}
        {{ return(alluvium.query_rows("select url_decode(" ~ uri ~ ") as path")[0].path) }}
    {%- endfor -%}
{% endmacro %}


{#
    Made by a query: `create table` alone is refused where a run that was killed in it has left a folder without a commit
    (DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION; Delta 3.3.3, 4.0.1), for good.
#}
{% macro create_ledger_sql(ledger, columns, options="") -%}
    create table if not exists {{ ledger }}
    using delta
    {%- if options %}
    {{ options | indent(4) }}
    {%- endif %}
    as
    select declared.*
    from (
        select
            cast(null as struct<
                {{ columns | indent(16) }}
            >) as declared
    ) as none_yet
    where false
{%- endmacro %}
