{#
    The position of an event: one string of fixed width whose parts sort from the most to the least significant, so that
    one column orders row_number, guards a merge and prunes files.

    PostgreSQL: the end of the transaction that finished before, then the event's own lsn (`source.sequence`). As
    numbers the pair is the commit order; the lsn alone runs backwards where transactions interleave. A feed that has
    the lsn only (flattened without `source.sequence`) takes it twice: per key that is the same order, because a row
    lock keeps a key's lsns in commit order. `_connectors` has the other connectors, `_declared_position` the
    orders that a feed declares. Then snapshot rows below stream events, and last the delivery (partition, offset,
    version of the file, line), so that no two records tie. NULL where `_source_position` is, which alone decides that a
    row is rejected (`_reject_reason`). No row is ordered by a clock instead.
#}
{% macro _cdc_position(feed) -%}
    if(source_position is null, null, concat_ws(
        '.',
        {{ alluvium._offset_position(feed) | join(",\n        ") if feed.order_by == "offset" else "source_position" }},
        if({{ alluvium._is_snapshot_row() }}, '0', '1'),
        lpad(coalesce(kafka_partition, 0), 6, '0'),
        lpad(coalesce(kafka_offset, file_offset, pmod(xxhash64(file_path), 1000000000000000000)), 20, '0'),
        {{ alluvium._version_of_file() }},
        lpad(line, 12, '0')
    ))
{%- endmacro %}


{#
    Of two files that have one event, the newer one says what it was: one that was mended and landed anew, on whichever
    line it has the event now. So a clock decides between deliveries of one event alone. Hundredths of a second since
    1970, eight digits to the base of 36 until 2864, above the lines' numbers that stood here before; then a hash, since
    a copy may have the same name and time in another folder.
#}
{% macro _version_of_file() -%}
concat(
            lpad(conv(unix_millis(file_modified_at) div 10, 10, 36), 8, '0'),
            right(lpad(hex(xxhash64(file_path, file_length)), 16, '0'), 8)
        )
{%- endmacro %}
