{#
    Of a table without a key each row is there as often as the table has it; the hash and the number tell equal ones
    apart.
#}
{% macro _current_rows_sql(state, feed) -%}
select
    {%- for column in feed.columns %}
    {{ alluvium._declared_value(column, state) }},
    {%- endfor %}
    {%- for name in (["_cdc_unresolved_columns"] if feed.key else ["_cdc_row_hash", "_cdc_row_number"]) %}
    {{ name }},
    {%- endfor %}
    {{ alluvium._state_lineage_columns() | join(",\n    ") }}
from {{ state }}
{%- if feed.key %}
where not _is_deleted
{%- else %}
    lateral view explode(sequence(cast(1 as bigint), _cdc_row_count)) numbers as _cdc_row_number
where _cdc_row_count > 0
{%- endif %}
{%- endmacro %}


{# The feed with the columns that a state has which leaves new ones out. #}
{% macro _feed_of_table(feed, table) %}
    {%- set node = alluvium._node_of_relation(table) -%}
    {%- set there =
        alluvium._columns_in_relation(table) if node and node.config.on_schema_change == "ignore" else [] -%}
    {{ return(alluvium._feed_of_columns(feed, there | map(attribute="name") | list) if there else feed) }}
{% endmacro %}
