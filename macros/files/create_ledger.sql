{#
    A ledger, empty or as it is. A run that was killed between Delta's first commit and the catalog's entry has left a
    table that no catalog names, and `create table` refuses its folder for good; so does a catalog that has lost its
    tables. Such a table is entered again as it is. `create or replace` would take the folder, and what is in it:
    without the purged keys their rows would come back in silence.
#}
{% macro _create_ledger(ledger, statement) %}
    {%- do alluvium._register_ledger(ledger) -%}
    {%- do run_query(statement) if load_relation(ledger) is none -%}
{% endmacro %}


{#
    The hooks of a package do not see the root project's own `vars`, nor its models those of the package: only what
    stands above both is one place.
#}
{% macro _require_one_ledger(caller_name) %}
    {%- set of_hooks = alluvium._run_state().get("ledger_schema") -%}
    {%- if of_hooks not in [none, alluvium._file_ledger().schema] -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "var alluvium_ledger_schema", alluvium._file_ledger().schema,
            of_hooks
            ~ ", as the hooks at the begin of the run have it: set it below `vars:`, not below a project's name",
        ) %}
    {%- endif -%}
{% endmacro %}


{#
    Asks for nothing where the catalog has the table, by dbt's own list of relations. Found and entered, it is put into
    that list.
#}
{% macro _register_ledger(ledger) %}
    {%- set folder = alluvium._folder_of_lost_ledger(ledger) if load_relation(ledger) is none else none -%}
    {%- if folder -%}
        {%- do
            log("Found " ~ ledger ~ " at " ~ folder ~ ", which the catalog does not know; entered again", info=true) -%}
        {%- do run_query(
                "create table if not exists " ~ ledger ~ " using delta location " ~ alluvium._string_literal(folder)
            ) -%}
        {%- do adapter.cache_added(ledger.incorporate(type="table")) -%}
    {%- endif -%}
{% endmacro %}


{# If Delta has committed anything there; none else. #}
{% macro _folder_of_lost_ledger(ledger) %}
    {%- set folder = alluvium._folder_of_table(ledger) -%}
    {{ return(folder if folder and alluvium._has_commits(ledger, folder, false) else none) }}
{% endmacro %}


{#
    Made by a query: `create table` alone is refused where a run that was killed in it has left a folder without a
    commit (DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION; Delta 3.3.3, 4.0.1), for good.
#}
{% macro _create_ledger_sql(ledger, columns, options="") -%}
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
