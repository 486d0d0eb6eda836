{#
    Overrides dbt's own, which knows `--full-refresh` and the configuration `full_refresh` alone; dbt takes it only from
    the root project. A table is built anew, too, where somebody has asked for that (reset_entity), and where an
    upstream that it has applied was built anew or has had files replayed since: events keep their positions when they
    are decoded otherwise, so a merge under the guard would keep the rows of before.
#}
{% macro should_full_refresh() %}
    {#- A mart of 0.1 that is merged whole: it calls no macro that could say so. -#}
    {%- do alluvium._require_incremental_mart("record_applied_batches")
        if "record_applied_batches" in (config.get("post-hook") or []) | string
        and alluvium._kind_of_model(model) not in alluvium._kinds_of_models() -%}
    {%- set is_asked = dbt.should_full_refresh() -%}
    {%- if not is_asked and not alluvium._is_to_be_rebuilt() -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if not is_asked and config.get("full_refresh") is not none -%}
        {% do alluvium._raise_invalid(
            "model " ~ model.name, "full_refresh", config.get("full_refresh"),
            "none: " ~ alluvium._reason_to_rebuild(this)
        ) %}
    {%- endif -%}
    {%- do alluvium._require_replaceable() -%}
    {%- do alluvium._note_replaced() -%}
    {{ return(true) }}
{% endmacro %}
