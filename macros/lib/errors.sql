{#
    Every refusal of this project reads alike: who refuses, what was given, what is allowed.
    It is raised while the model compiles, before any of its SQL runs.
#}
{% macro _raise_invalid(caller_name, argument, given, allowed) %}
    {#- A relation is a mapping, and no JSON. -#}
    {%- set given = given | string if given.render is defined else given -%}
    {{ exceptions.raise_compiler_error(
        caller_name ~ ": " ~ argument ~ " is " ~ (tojson(given) if given is not none else "not given")
        ~ "; allowed: " ~ (allowed | join(", ") if allowed is sequence and allowed is not string else allowed) ~ "."
    ) }}
{% endmacro %}


{#
    dbt counts the warnings of tests only (1.11). Those of models and hooks are counted for the run's report
    (_announce_warnings).
#}
{% macro _warn(message) %}
    {%- do exceptions.warn(message) -%}
    {%- set warnings = alluvium._run_state().setdefault("warnings", []) -%}
    {%- do warnings.append(message) if message not in warnings -%}
{% endmacro %}


{% macro _require_one_of(caller_name, argument, given, allowed) %}
    {%- if given not in allowed -%}
        {% do alluvium._raise_invalid(caller_name, argument, given, allowed) %}
    {%- endif -%}
    {{ return(given) }}
{% endmacro %}


{# The command that builds a table anew, with all that reads it. #}
{% macro _rebuild_command(table) %}
    {{ return("`dbt build --full-refresh --select " ~ table.identifier ~ "+`") }}
{% endmacro %}
