{#
    `offset`, `timestamp`, or the columns with their types and what dumps there are, which decide how positions look;
    none for the connector's order.
#}
{% macro _declared_order(feed) %}
    {%- if not feed.sequence_by -%}
        {{ return(feed.order_by) }}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for name in feed.sequence_by -%}
        {%- set column = alluvium._column_of(feed, name) -%}
        {%- do columns.append(name ~ " " ~ column.data_type) -%}
    {%- endfor -%}
    {%- do columns.append("full_dumps " ~ tojson(feed.full_dumps, sort_keys=true)) if feed.full_dumps -%}
    {{ return(columns) }}
{% endmacro %}


{% macro _position_before_delivery(row="") %}
    {{ return("left({0}_cdc_position, length({0}_cdc_position) - 60)".format(row)) }}
{% endmacro %}


{% macro _has_declared_order(feed) %}
    {{ return(alluvium._declared_order(feed) is not none) }}
{% endmacro %}


{# The types that rows can be ordered by; a double may be none that its neighbour is not, too. #}
{% macro _sortable_types() %}
    {{ return(["tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "timestamp_ntz", "string"]) }}
{% endmacro %}


{# What the connector's position is made of; nothing for one whose changes only offsets order. #}
{% macro _position_rules(feed) %}
    {%- do feed.update({"connectors": alluvium._connectors()}) if feed.connectors is not defined -%}
    {{ return(feed.connectors.get(feed.connector, {}).get("position", [])) }}
{% endmacro %}
