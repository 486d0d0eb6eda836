{#
    The parts of a position that a feed's own declaration says: `order_by: offset` (where the record was delivered),
    `order_by: timestamp` (when the source says that it was changed), or the columns of `sequence_by`. Texts that sort
    as the values do, and of which none is the beginning of another; NULL where there is no value. A truncate has no
    key, so it lies in any partition, and its offset compares only with those of its own. The line is added later
    (_offset_position), when it has its number.
#}
{% macro _declared_position(feed) %}
    {%- if feed.order_by == "offset" -%}
        {{ return(["if(kind = 'truncate', null, lpad(coalesce(kafka_offset, file_offset), 20, '0'))"]) }}
    {%- elif feed.order_by == "timestamp" -%}
        {{ return([alluvium._sortable_number("coalesce(source_ts_us, try_multiply(source_ts_ms, 1000))", 19)]) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for name in feed.sequence_by -%}
        {%- set column = alluvium._column_of(feed, name) -%}
        {%- set of_row = alluvium._sortable_text(column, alluvium._value(column, feed)) -%}
        {%- do parts.append(alluvium._position_in_dump(feed, column, of_row) if feed.full_dumps else of_row) -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{#
    A file that has lost records (compaction, a filter) has its lines in the right order, and none of them an offset
    above the next file's first. A name with the last offset does not say how far before it a line is.
#}
{% macro _offset_position(feed) %}
    {%- if alluvium._has_last_offsets(feed) -%}
        {{ return(
            ["lpad(coalesce(kafka_offset, file_offset), 20, '0')", "lpad(if(kafka_offset is null, line, 0), 12, '0')"]
        ) }}
    {%- endif -%}
    {{ return(["lpad(coalesce(kafka_offset, file_offset + line - 1), 20, '0')"]) }}
{% endmacro %}
