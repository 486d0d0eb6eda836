{#
    What the parts of a run leave for each other: dbt compiles a model's hooks and its strategy's SQL on their own.
    `graph` is one dictionary for all nodes and hooks of a run (dbt-core 1.11). Nothing here outlives the process: what
    has to is a setting of the Spark session, or a property of a table.
#}
{% macro _run_state() %}
    {{ return(graph.setdefault("alluvium", {}).setdefault(invocation_id, {})) }}
{% endmacro %}


{% macro _remember(kind, relation, value) %}
    {%- do alluvium._run_state().update({alluvium._name_in_run(kind, relation): value}) -%}
{% endmacro %}


{# What was left, none where nothing was. #}
{% macro _remembered(kind, relation) %}
    {{ return(alluvium._run_state().get(alluvium._name_in_run(kind, relation))) }}
{% endmacro %}


{# Of a hook: whether this run has called it for the model before. #}
{% macro _is_first_call(hook) %}
    {%- set was_called = alluvium._remembered(hook, this) -%}
    {%- do alluvium._remember(hook, this, true) -%}
    {{ return(not was_called) }}
{% endmacro %}


{% macro _name_in_run(kind, relation) %}
    {{ return(kind ~ " of " ~ relation.schema ~ "." ~ relation.identifier) }}
{% endmacro %}


{# Whether models are built, not only compiled or tested. #}
{% macro _is_run() %}
    {{ return(flags.WHICH in ["build", "run", "retry"] and not alluvium._is_unit_test()) }}
{% endmacro %}


{#
    Whether a macro may ask the database. Not where dbt only renders, which works before anything is built: SQL names
    tables then, and the rows of a unit test are given.
#}
{% macro _may_query() %}
    {{ return(
        execute and flags.WHICH not in ["compile", "generate", "list", "parse"] and not alluvium._is_unit_test()
    ) }}
{% endmacro %}


{% macro _is_unit_test() %}
    {{ return(model is defined and model.resource_type == "unit_test") }}
{% endmacro %}


{# dbt's id of the run, as a part of a table's name may be. #}
{% macro _run_id() %}
    {{ return(invocation_id | replace("-", "")) }}
{% endmacro %}


{# Rows of a query as a list of dictionaries; an empty list where dbt only renders (_may_query). #}
{% macro _query_rows(sql) %}
    {%- set rows = [] -%}
    {%- if alluvium._may_query() -%}
        {%- for row in run_query(sql) -%}
            {%- do rows.append(row.dict()) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(rows) }}
{% endmacro %}
