{#
    A mart that a run merges by its keys (changed_keys): at the top of its SQL. A merge deletes nothing; the two options
    do. {{ incremental_mart(["region", "order_no", "line_no"], deleted_with="slv_shop__order_items_state") }}
#}
{% macro incremental_mart(unique_key, deleted_with=none, delete_where=none) %}
    {%- if execute -%}
        {{ return("") }}
    {%- endif -%}
    {%- set unique_key = [unique_key] if unique_key is string else unique_key -%}
    {%- set is_list = unique_key is defined and unique_key is sequence and unique_key is not mapping -%}
    {%- if not is_list or not unique_key or unique_key | reject("string") | list or "" in unique_key -%}
        {% do alluvium._raise_invalid(
            "incremental_mart: model " ~ model.name, "unique_key", unique_key | default(none),
            "the columns that tell its rows apart"
        ) %}
    {%- endif -%}
    {%- if delete_where is not none and delete_where is not string -%}
        {% do alluvium._raise_invalid(
            "incremental_mart: model " ~ model.name, "delete_where", delete_where, "a condition, as a text"
        ) %}
    {%- endif -%}
    {%- if deleted_with and deleted_with is not string -%}
        {% do alluvium._raise_invalid(
            "incremental_mart: model " ~ model.name, "deleted_with", deleted_with,
            "the name of a state, as a text: its hook makes the ref() of it"
        ) %}
    {%- elif deleted_with -%}
        {#- dbt learns here that the mart reads the state: the hook comes too late for that. -#}
        {%- do ref(deleted_with) -%}
        {%- do config({
            "pre-hook": "{{ alluvium.delete_vanished_keys(ref('" ~ deleted_with ~ "'), " ~ unique_key | tojson ~ ") }}"
        }) -%}
    {%- endif -%}
    {%- do config({"post-hook": "delete from {{ this }} where " ~ delete_where}) if delete_where -%}
    {%- do config(unique_key=unique_key) -%}
    {%- do alluvium._set_model("incremental_mart") -%}
{% endmacro %}
