{#
    What one statement of a run leaves for a later one: dbt compiles a model's hooks and its strategy's SQL on their own.
    A setting of the Spark session, named after the run, because a session may outlive it.
#}
{% macro remember(kind, relation, value) %}
    {%- do run_query("set " ~ alluvium.setting(kind, relation) ~ " = " ~ value) -%}
{% endmacro %}


{# The text that was left, none where nothing was. #}
{% macro remembered(kind, relation) %}
    {{ return(alluvium.session_setting(alluvium.setting(kind, relation))) }}
{% endmacro %}


{% macro setting(kind, relation) %}
    {{ return("alluvium." ~ kind ~ "." ~ alluvium.run_id() ~ "." ~ relation.schema ~ "." ~ relation.identifier) }}
{% endmacro %}


{# Whether models are built, not only compiled or tested. #}
{% macro is_run() %}
    {{ return(flags.WHICH in ["build", "run", "retry"]) }}
{% endmacro %}


{# dbt's id of the run, as a part of a setting's name may be. #}
{% macro run_id() %}
    {{ return(invocation_id | replace("-", "")) }}
{% endmacro %}


{% macro session_setting(name) %}
    {%- set rows = alluvium.query_rows("set " ~ name) -%}
    {#- Spark answers `<undefined>` for a setting that is not there. -#}
    {{ return(rows[0].value if rows and rows[0].value != "<undefined>" else none) }}
{% endmacro %}
