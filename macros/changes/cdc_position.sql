{#
    The position of an event: one string of fixed width whose parts sort from the most to the least significant,
    so that one column orders row_number, guards a merge and prunes files.

    PostgreSQL: the end of the transaction that finished before, then the event's own lsn (`source.sequence`). As
    numbers the pair is the commit order; the lsn alone runs backwards where transactions interleave. A feed that
    has the lsn only (flattened without `source.sequence`) takes it twice: per key that is the same order, because
    a row lock keeps a key's lsns in commit order.
    MySQL, MariaDB: binlog file number, position, row.
    Then snapshot rows below stream events, and last the delivery (partition, offset, line, and a hash of the file:
    a copy may lie in another folder under the same name), so that no two records tie. NULL where the source position is missing: the row is rejected, never ordered by a clock.
#}
{% macro cdc_position(feed) -%}
    {#- concat_ws alone passes over a NULL part, and what is left would sort above every whole position. -#}
    if({{ alluvium.has_source_position(feed) }}, concat_ws(
        '.',
        {{ alluvium.source_position(feed) }},
        if({{ alluvium.is_snapshot_row() }}, '0', '1'),
        lpad(coalesce(kafka_partition, 0), 6, '0'),
        lpad(coalesce(kafka_offset, file_offset, pmod(xxhash64(file_path), 1000000000000000000)), 20, '0'),
        lpad(line, 12, '0'),
        lpad(hex(xxhash64(file_path, file_length)), 16, '0')
    ), null)
{%- endmacro %}


{% macro source_position(feed) %}
    {{ return(alluvium.postgresql_position() if feed.connector == "postgresql" else alluvium.binlog_position()) }}
{% endmacro %}


{# Width of the part that the source says, which all rows of one snapshot share. #}
{% macro source_position_length(feed) %}
    {{ return(41 if feed.connector == "postgresql" else 42) }}
{% endmacro %}


{# `r` says snapshot in every connector; only a signal-driven one has another `source.snapshot`. #}
{% macro is_snapshot_row() %}
    {{ return("op = 'r'") }}
{% endmacro %}


{#
    An initial snapshot's rows share one lsn and have `[null, lsn]`; the stream's first transactions have that lsn
    or a later one as the end of the transaction before. Rows of an incremental snapshot have no lsn, only the
    watermark's sequence.
#}
{% macro postgresql_position() -%}
    lpad(coalesce(from_json(source_sequence, 'array<string>')[0], from_json(source_sequence, 'array<string>')[1], source_lsn), 20, '0'),
        if(op = 'r' and coalesce(snapshot, '') <> 'incremental', repeat('0', 20), lpad(coalesce(source_lsn, from_json(source_sequence, 'array<string>')[1]), 20, '0'))
{%- endmacro %}


{% macro binlog_position() -%}
    lpad(regexp_extract(source_file, '([0-9]+)$', 1), 10, '0'),
        lpad(source_pos, 20, '0'),
        lpad(coalesce(source_row, 0), 10, '0')
{%- endmacro %}


{% macro has_source_position(feed) %}
    {%- if feed.connector == "postgresql" -%}
        {{ return("coalesce(source_lsn, from_json(source_sequence, 'array<string>')[1]) is not null") }}
    {%- endif -%}
    {{ return("(source_file rlike '[0-9]+$' and source_pos is not null)") }}
{% endmacro %}
