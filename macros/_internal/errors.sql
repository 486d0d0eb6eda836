{#
    Every refusal of this project reads alike: who refuses, what was given, what is allowed.
    It is raised while the model compiles, before any of its SQL runs.
#}
{% macro raise_invalid(caller_name, argument, given, allowed) %}
    {{ exceptions.raise_compiler_error(
        caller_name ~ ": " ~ argument ~ " is " ~ (tojson(given) if given is not none else "not given")
        ~ "; allowed: " ~ (allowed | join(", ") if allowed is sequence and allowed is not string else allowed) ~ "."
    ) }}
{% endmacro %}


{# dbt counts the warnings of tests only (1.11). Those of models and hooks are counted for the run's report (announce_warnings). #}
{% macro warn(message) %}
    {%- do exceptions.warn(message) -%}
    {%- set warnings = alluvium.run_state().setdefault("warnings", []) -%}
    {%- do warnings.append(message) if message not in warnings -%}
{% endmacro %}


{# Any other way to build the model would double its rows or lose its past, on a green run. #}
{% macro require_incremental(caller_name, strategy) %}
    {%- for option, wanted in {"materialized": "incremental", "incremental_strategy": strategy}.items() if alluvium.own_config().get(option) != wanted -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": model " ~ model.name, option, alluvium.own_config().get(option),
            wanted ~ ", which " ~ caller_name ~ " sets itself: delete `" ~ option ~ "` from the model and from its folder in dbt_project.yml",
        ) %}
    {%- endfor -%}
    {#- Rows are deleted, properties are kept, versions are asked for; of a change log, too, what its statistics say. -#}
    {%- do alluvium.require_one_of(
        caller_name ~ ": model " ~ model.name, "file_format", alluvium.own_config().get("file_format"), ["delta"] if strategy == "append" else ["delta", "hudi"]
    ) -%}
    {%- do alluvium.require_strategy(caller_name, strategy) -%}
{% endmacro %}


{% macro require_one_of(caller_name, argument, given, allowed) %}
    {%- if given not in allowed -%}
        {% do alluvium.raise_invalid(caller_name, argument, given, allowed) %}
    {%- endif -%}
    {{ return(given) }}
{% endmacro %}


{#
    What a table was built with stands in its properties (record_applied_batches writes what is remembered here). Rows of other options beside those that are
    there would make a table of two kinds.
#}
{% macro require_same_options(subject, argument, given, options, allowed=none) %}
    {%- set key = local_md5(tojson(options)) -%}
    {%- set properties = alluvium.table_properties(this) if alluvium.is_run() and is_incremental() else {} -%}
    {%- if properties.get("key", "none") not in [key, "none"] -%}
        {% do alluvium.raise_invalid(
            subject, argument, given,
            allowed or "those that " ~ this ~ " was built with; others need " ~ alluvium.rebuild_command(this),
        ) %}
    {%- endif -%}
    {%- do alluvium.require_placed_rows(properties) if alluvium.is_run() and is_incremental() and alluvium.is_kept_by_key(model) -%}
    {%- do alluvium.remember("key", this, key) if alluvium.is_run() -%}
{% endmacro %}


{# The command that builds a table anew, with all that reads it. #}
{% macro rebuild_command(table) %}
    {{ return("`dbt build --full-refresh --select " ~ table.identifier ~ "+`") }}
{% endmacro %}
