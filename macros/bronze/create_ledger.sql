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


{# If Delta has committed anything there; none else. #}
{% macro folder_of_lost_ledger(ledger) %}
    {%- set folder = alluvium.folder_of_table(ledger) -%}
    {{ return(folder if folder and alluvium.has_commits(ledger, folder, false) else none) }}
{% endmacro %}


{# Where a table's files would be; none where the catalog has no place for its schema. #}
{% macro folder_of_table(table) %}
    {%- set location = alluvium.location_of_schema(table.schema) -%}
    {{ return(location.rstrip("/") ~ "/" ~ table.identifier if location else none) }}
{% endmacro %}


{#
    A table of binaryFile's lists the folder, since SQL has no other way to ask of one that may not be there. One that a killed run has left is taken, and
    dropped, by the next.
#}
{% macro has_commits(table, folder, is_hudi) %}
    {%- set commits = alluvium.beside_table(table, "commits") -%}
    {%- do run_query(alluvium.create_commits_sql(commits, folder, is_hudi)) -%}
    {%- do run_query("refresh table " ~ commits) -%}
    {%- set is_there = alluvium.query_rows("select count(*) as commit_count from " ~ commits)[0].commit_count > 0 -%}
    {%- do run_query("drop table " ~ commits) -%}
    {{ return(is_there) }}
{% endmacro %}


{# Hudi's commits have names by its version; its properties are there before the first. #}
{% macro create_commits_sql(commits, folder, is_hudi) -%}
    create table if not exists {{ commits }}
    using binaryFile
    options (
        '__globPaths__' 'false',
        'pathGlobFilter' {{ "'hoodie.properties'" if is_hudi else "'*.json'" }},
        'path' {{ alluvium.string_literal(folder ~ ("/.hoodie" if is_hudi else "/_delta_log")) }}
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
