{#
    The parts of a position that a feed's own declaration says: `order_by: offset` (where the record was delivered),
    `order_by: timestamp` (when the source says that it was changed), or the columns of `sequence_by`. Texts that sort as the
    values do, and of which none is the beginning of another; NULL where there is no value. A truncate has no key, so it lies in any
    partition, and its offset compares only with those of its own. The line is added later (offset_position), when it has its number.
#}
{% macro declared_position(feed) %}
    {%- if feed.order_by == "offset" -%}
        {{ return(["if(kind = 'truncate', null, lpad(coalesce(kafka_offset, file_offset), 20, '0'))"]) }}
    {%- elif feed.order_by == "timestamp" -%}
        {{ return([alluvium.sortable_number("coalesce(source_ts_us, try_multiply(source_ts_ms, 1000))", 19)]) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for name in feed.sequence_by -%}
        {%- set column = alluvium.column_of(feed, name) -%}
        {%- set of_row = alluvium.sortable_text(column, alluvium.value_of(name)) -%}
        {%- do parts.append(alluvium.position_in_dump(feed, column, of_row) if feed.full_dumps else of_row) -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{% macro has_declared_order(feed) %}
    {{ return(alluvium.declared_order(feed) is not none) }}
{% endmacro %}


{# `offset`, `timestamp`, or the columns with their types and what dumps there are, which decide how positions look; none for the connector's order. #}
{% macro declared_order(feed) %}
    {%- if not feed.sequence_by -%}
        {{ return(feed.order_by) }}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for name in feed.sequence_by -%}
        {%- set column = alluvium.column_of(feed, name) -%}
        {%- do columns.append(name ~ " " ~ column.data_type) -%}
    {%- endfor -%}
    {%- do columns.append("full_dumps " ~ tojson(feed.full_dumps, sort_keys=true)) if feed.full_dumps -%}
    {{ return(columns) }}
{% endmacro %}


{#
    A file that has lost records (compaction, a filter) has its lines in the right order, and none of them an offset above the next
    file's first. A name with the last offset does not say how far before it a line is.
#}
{% macro offset_position(feed) %}
    {%- if alluvium.has_last_offsets(feed) -%}
        {{ return(["lpad(coalesce(kafka_offset, file_offset), 20, '0')", "lpad(if(kafka_offset is null, line, 0), 12, '0')"]) }}
    {%- endif -%}
    {{ return(["lpad(coalesce(kafka_offset, file_offset + line - 1), 20, '0')"]) }}
{% endmacro %}


{# Hexadecimal digits sort as the bytes do, and above the dot that ends them. #}
{% macro sortable_text(column, value) %}
    {%- if column.data_type == "string" -%}
        {{ return("hex(" ~ value ~ ")") }}
    {%- elif column.data_type.startswith("decimal") -%}
        {{ return(alluvium.sortable_decimal(column, value)) }}
    {%- endif -%}
    {{ return(alluvium.sortable_number(alluvium.whole_number(column, value), 19)) }}
{% endmacro %}


{# The types that rows can be ordered by; a double may be none that its neighbour is not, too. #}
{% macro sortable_types() %}
    {{ return(["tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "timestamp_ntz", "string"]) }}
{% endmacro %}


{#
    A value as a whole number: days, or microseconds since 1970. Of a local time by its date and its hours, so that no
    session's time zone enters it (timestampdiff of Spark 3.5.7 takes that, and moves an hour of spring). Not as an interval, which is no decimal where it
    is as long as the infinity of PostgreSQL (3.5.7).
#}
{% macro whole_number(column, value) %}
    {{ return({
        "date": "datediff(" ~ value ~ ", date '1970-01-01')",
        "timestamp": "unix_micros(" ~ value ~ ")",
        "timestamp_ntz": "cast(cast(datediff({0}, date '1970-01-01') as decimal(20,0)) * 86400000000 + (hour({0}) * 3600 + minute({0}) * 60 + extract(second from {0})) * 1000000 as bigint)".format(value),
    }.get(column.data_type, value)) }}
{% endmacro %}


{# The sign, then the digits; of a negative number their nines' complement, so that the smaller one sorts first. #}
{% macro sortable_number(value, width) -%}
    if(
            {{ value }} < 0,
            concat('0', translate(lpad(substring(cast({{ value }} as string), 2), {{ width }}, '0'), '0123456789', '9876543210')),
            concat('1', lpad({{ value }}, {{ width }}, '0'))
        )
{%- endmacro %}


{#
    The digits before and after the point; one further from zero than the value has no exponent, which Spark (3.5.7) gives the
    text of a decimal as small as 0.0000001. Not abs(): of a number of more than 34 digits it is rounded in Spark 4.0.2, as `-` is.
#}
{% macro sortable_decimal(column, value) %}
    {%- set width = alluvium.decimal_precision(column.data_type) + 1 -%}
    {%- set digits = "lpad(translate(cast(if({0} < 0, {0} - 1, {0} + 1) as string), '-.', ''), {1}, '0')".format(value, width) -%}
    {{ return(
        "if(" ~ value ~ " < 0, concat('0', translate(" ~ digits ~ ", '0123456789', '9876543210')), concat('1', " ~ digits ~ "))"
    ) }}
{% endmacro %}
