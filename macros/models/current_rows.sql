{#
    The rows that a table has now: a state without its tombstones.
    The whole body of a slv_ model: {{ current_rows(ref('slv_shop__orders_state')) }}
#}
{% macro current_rows(state) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("current_rows") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium._require_options_of_model("current_rows") -%}
    {%- do alluvium._require_kind_of_input("current_rows", "state", state, ["state"]) -%}
    {%- set feed = alluvium._feed_of_table(alluvium._feed_of_relation("current_rows", state), state) -%}
    {{ return(alluvium._whole_body(alluvium._current_rows_sql(state, feed))) }}
{% endmacro %}
