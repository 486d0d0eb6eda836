{#
    None of a model that is none of this project's kinds. A mart that is computed whole has its kind from its folder in
    dbt_project.yml.
#}
{% macro _kind_of_model(node) %}
    {{ return((node.config.meta or {}).get("alluvium_model")) }}
{% endmacro %}


{#
    Its hooks and its strategy alone make no model one of a kind: without the kind a run would merge with no guard, on
    NULL keys, and keep what a state that was built anew does not have.
#}
{% macro _require_kind(caller_name) %}
    {%- if (alluvium._own_config().get("meta") or {}).get("alluvium_model") not in alluvium._kinds_of_models() -%}
        {{ exceptions.raise_compiler_error(
            caller_name ~ ": model " ~ model.name ~ " calls it where dbt does not see it while it parses. "
            ~ "Call it outside of `{% if execute %}` and of any other condition that is false then."
        ) }}
    {%- endif -%}
{% endmacro %}


{# What a macro reads is what it takes it for; anything else would end in SQL that names no cause, or in wrong rows. #}
{% macro _require_kind_of_input(caller_name, argument, relation, kinds) %}
    {%- set node = alluvium._node_of_relation(relation) if relation.identifier is defined else none -%}
    {%- set kind =
        none if not node else "source" if node.resource_type == "source" else alluvium._kind_of_model(node) -%}
    {%- if relation.identifier is not defined or node and kind not in kinds -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, argument,
            relation | string ~ (", a " ~ kind | replace("_", " ") if kind else ""),
            "source(...)" if kinds == ["source"] else "ref(...) of a " ~ kinds | join(" or a ") | replace("_", " ")
        ) %}
    {%- endif -%}
{% endmacro %}


{% macro _is_change_log(node) %}
    {{ return(alluvium._kind_of_model(node) == "change_log") }}
{% endmacro %}


{# One to which a run appends what is new. #}
{% macro _is_log(node) %}
    {{ return(alluvium._kind_of_model(node) in ["change_log", "complete_change_log"]) }}
{% endmacro %}


{% macro _is_state(node) %}
    {{ return(alluvium._kind_of_model(node) == "state") }}
{% endmacro %}


{% macro _is_history(node) %}
    {{ return(alluvium._kind_of_model(node) == "history") }}
{% endmacro %}


{# A state or a history, whose SQL is this project's. #}
{% macro _is_kept_by_key(node) %}
    {{ return(alluvium._kind_of_model(node) in ["state", "history"]) }}
{% endmacro %}


{#
    States, histories and logs of complete transactions: the first relation that they read is the log that their rows
    are from.
#}
{% macro _reads_own_log(node) %}
    {{ return(alluvium._kind_of_model(node) in ["state", "history", "complete_change_log"]) }}
{% endmacro %}


{# Whether a table of this project is merged from the batches of others. #}
{% macro _is_merged_from_batches(node) %}
    {{ return(alluvium._kind_of_model(node) in ["state", "history", "transaction_status", "incremental_mart"]) }}
{% endmacro %}
