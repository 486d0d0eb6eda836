{#
    The rows that a table has now: a state without its tombstones.
    The whole body of a slv_ model: {{ current_rows(ref('slv_shop__orders_state')) }}
#}
{% macro current_rows(state) %}
    {%- if not execute -%}
        {%- do alluvium.set_model("current_rows") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set feed = alluvium.feed_of_table(alluvium.feed_of_relation("current_rows", state), state) -%}
    {{ return(alluvium.current_rows_sql(state, feed)) }}
{% endmacro %}


{# The feed with the columns that a state has which leaves new ones out. #}
{% macro feed_of_table(feed, table) %}
    {%- set node = alluvium.node_of_relation(table) -%}
    {%- set there = alluvium.columns_in_relation(table) if node and node.config.on_schema_change == "ignore" else [] -%}
    {{ return(alluvium.feed_of_columns(feed, there | map(attribute="name") | list) if there else feed) }}
{% endmacro %}


{# Of a table without a key each row is there as often as the table has it; the hash and the number tell equal ones apart. #}
{% macro current_rows_sql(state, feed) -%}
select
    {%- for column in feed.columns %}
    {{ alluvium.declared_value(column, state) }},
    {%- endfor %}
    {%- for name in (["_cdc_unresolved_columns"] if feed.key else ["_cdc_row_hash", "_cdc_row_number"]) %}
    {{ name }},
    {%- endfor %}
    {{ alluvium.state_lineage_columns() | join(",\n    ") }}
from {{ state }}
{%- if feed.key %}
where not _is_deleted
{%- else %}
    lateral view explode(sequence(cast(1 as bigint), _cdc_row_count)) numbers as _cdc_row_number
where _cdc_row_count > 0
{%- endif %}
{%- endmacro %}
