{#
    The position of an event: one string of fixed width whose parts sort from the most to the least significant,
    so that one column orders row_number, guards a merge and prunes files.

    PostgreSQL: the end of the transaction that finished before, then the event's own lsn (`source.sequence`). As
    numbers the pair is the commit order; the lsn alone runs backwards where transactions interleave. A feed that
    has the lsn only (flattened without `source.sequence`) takes it twice: per key that is the same order, because
    a row lock keeps a key's lsns in commit order.
    The macro `connectors` has the other connectors, declared_position.sql the orders that a feed declares.
    Then snapshot rows below stream events, and last the delivery (partition, offset, version of the file, line), so that no two records tie.
    NULL where `source_position` is, which alone decides that a row is rejected (reject_reason). No row is ordered by a clock instead.
#}
{% macro cdc_position(feed) -%}
    if(source_position is null, null, concat_ws(
        '.',
        {{ alluvium.offset_position(feed) | join(",\n        ") if feed.order_by == "offset" else "source_position" }},
        if({{ alluvium.is_snapshot_row() }}, '0', '1'),
        lpad(coalesce(kafka_partition, 0), 6, '0'),
        lpad(coalesce(kafka_offset, file_offset, pmod(xxhash64(file_path), 1000000000000000000)), 20, '0'),
        {{ alluvium.version_of_file() }},
        lpad(line, 12, '0')
    ))
{%- endmacro %}


{#
    Of two files that have one event, the newer one says what it was: one that was mended and landed anew, on whichever line it has the event now. So a
    clock decides between deliveries of one event alone. Hundredths of a second since 1970, eight digits to the base of 36 until 2864, above the
    lines' numbers that stood here before; then a hash, since a copy may have the same name and time in another folder.
#}
{% macro version_of_file() -%}
concat(
            lpad(conv(unix_millis(file_modified_at) div 10, 10, 36), 8, '0'),
            right(lpad(hex(xxhash64(file_path, file_length)), 16, '0'), 8)
        )
{%- endmacro %}


{#
    What all deliveries of an event have of its position: what the source says of it alone; of a declared order all but the delivery, whose parts
    have 60 characters with their dots.
#}
{% macro position_of_event(feed, row="") %}
    {{ return(alluvium.position_before_delivery(row) if alluvium.has_declared_order(feed) else alluvium.event_position(feed, row)) }}
{% endmacro %}


{% macro position_before_delivery(row="") %}
    {{ return("left({0}_cdc_position, length({0}_cdc_position) - 60)".format(row)) }}
{% endmacro %}


{#
    What tells an event from others of its key, and is equal in all of its deliveries. Where NULLs are ignored each of several rows at
    one place in a declared order may bring what the others lack.
#}
{% macro identity_of_event(feed) %}
    {%- set position = alluvium.position_of_event(feed) -%}
    {{ return("struct(" ~ position ~ ", " ~ alluvium.image_of_event(feed) ~ ")" if feed.ignored_null_columns else position) }}
{% endmacro %}


{# `r` says snapshot in every connector; only a signal-driven one has another `source.snapshot`. #}
{% macro is_snapshot_row() %}
    {{ return("op = 'r'") }}
{% endmacro %}
