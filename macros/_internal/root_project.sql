{#
    dbt-spark takes the SQL of a strategy from the root project or from itself, never from a package (dbt-core 1.11). As a package Alluvium is asked only
    if the root project passes the call on (docs/guide/use-as-package.md). Without that a merge would have no position guard and a mart would
    keep the partitions that are gone, on a green run.
#}
{% macro require_strategy(caller_name, strategy) %}
    {%- if execute -%}
        {%- set own = {
            "append": "get_insert_into_sql", "insert_overwrite": "get_insert_overwrite_sql", "merge": "spark__get_merge_sql",
        }[strategy] -%}
        {%- do alluvium.require_passed_on(caller_name, "incremental_strategy " ~ strategy, own, alluvium.macro_of_strategy(own)) -%}
        {%- do alluvium.require_passed_on(caller_name, "a full refresh", "should_full_refresh", context["should_full_refresh"].macro) -%}
        {%- if alluvium.partition_names() -%}
            {%- do alluvium.require_passed_on(caller_name, "partition_by", "spark__create_table_as", adapter.dispatch("create_table_as", "dbt").macro) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# `asked` is the macro, of dbt's manifest, that dbt calls for what `own` does here. #}
{% macro require_passed_on(caller_name, purpose, own, asked) %}
    {%- if "macro.alluvium." ~ own not in [asked.unique_id] + asked.depends_on.macros -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": model " ~ model.name, "macro behind " ~ purpose, asked.unique_id,
            "alluvium." ~ own ~ ", or a macro " ~ own ~ " of the root project that calls it (docs/guide/use-as-package.md)",
        ) %}
    {%- endif -%}
{% endmacro %}


{# The macro that dbt-spark's materialization calls. Of the three only that of a merge is dispatched, unless the root project has one of the plain name. #}
{% macro macro_of_strategy(name) %}
    {%- set plain = context[name | replace("spark__", "")].macro -%}
    {{ return(adapter.dispatch("get_merge_sql", "dbt").macro if plain.unique_id == "macro.dbt.get_merge_sql" else plain) }}
{% endmacro %}


{# In another project, models of the same names there would get the tests of these. #}
{% macro refuse_own_models() %}
    {%- set own = graph.nodes.values() | selectattr("resource_type", "equalto", "model") | selectattr("package_name", "equalto", "alluvium") | list -%}
    {%- if own and project_name != "alluvium" -%}
        {% do alluvium.raise_invalid(
            "alluvium", "model of the package", own[0].name,
            "none: install the folder that `alluvium package` prints, with `local:`",
        ) %}
    {%- endif -%}
{% endmacro %}


{# The hooks of a package do not see the root project's own `vars`, nor its models those of the package: only what stands above both is one place. #}
{% macro require_one_ledger(caller_name) %}
    {%- set of_hooks = alluvium.run_state().get("ledger_schema") -%}
    {%- if of_hooks not in [none, alluvium.file_ledger().schema] -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": model " ~ model.name, "var alluvium_ledger_schema", alluvium.file_ledger().schema,
            of_hooks ~ ", as the hooks at the begin of the run have it: set it below `vars:`, not below a project's name",
        ) %}
    {%- endif -%}
{% endmacro %}
