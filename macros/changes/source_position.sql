{#
    The part of a position that the source says, and whether the record says it. By `order_by` or `sequence_by` where the feed
    declares one, else by its connector: what each sends is in source_fields.
#}
{% macro source_position(feed) %}
    {%- set by_connector = {
        "postgresql": alluvium.postgresql_position(),
        "mysql": alluvium.binlog_position(),
        "mariadb": alluvium.binlog_position(),
        "sqlserver": alluvium.sqlserver_position(),
        "oracle": alluvium.oracle_position(),
        "mongodb": alluvium.mongodb_position(),
    } -%}
    {{ return(alluvium.declared_position(feed) if alluvium.has_declared_order(feed) else by_connector[feed.connector]) }}
{% endmacro %}


{#
    Width of the part that the source says, which all rows of one snapshot share; 0 where they share none, since no reset
    and no move of a row is looked for then.
#}
{% macro source_position_length(feed) %}
    {%- set by_connector = {"postgresql": 41, "mysql": 42, "mariadb": 42, "sqlserver": 56, "oracle": 96, "mongodb": 31} -%}
    {{ return(alluvium.declared_position_length(feed) if alluvium.has_declared_order(feed) else by_connector[feed.connector]) }}
{% endmacro %}


{% macro has_source_position(feed) %}
    {%- set by_connector = {
        "postgresql": "coalesce(source_lsn, from_json(source_sequence, 'array<string>')[1]) is not null",
        "mysql": "(source_file rlike '[0-9]+$' and source_pos is not null)",
        "mariadb": "(source_file rlike '[0-9]+$' and source_pos is not null)",
        "sqlserver": alluvium.has_sqlserver_position(),
        "oracle": alluvium.has_oracle_position(),
        "mongodb": alluvium.has_mongodb_position(),
    } -%}
    {{ return(alluvium.has_declared_position(feed) if alluvium.has_declared_order(feed) else by_connector[feed.connector]) }}
{% endmacro %}


{#
    What the connector's `source` has of the position, or of the clock where that is declared to order, as Debezium names it (3.7), with the types of the record's JSON. SCNs are
    texts, because they may have more digits than a bigint.
#}
{% macro source_fields(feed) %}
    {%- set by_connector = {
        "postgresql": {"sequence": "string", "lsn": "bigint"},
        "mysql": {"file": "string", "pos": "bigint", "row": "bigint"},
        "mariadb": {"file": "string", "pos": "bigint", "row": "bigint"},
        "sqlserver": {"commit_lsn": "string", "change_lsn": "string", "event_serial_no": "string"},
        "oracle": {"commit_scn": "string", "scn": "string", "rs_id": "string", "ssn": "string", "txSeq": "string"},
        "mongodb": {"ts_ms": "bigint", "ord": "bigint", "wallTime": "bigint", "version": "string"},
    } -%}
    {{ return({"ts_ms": "bigint", "ts_us": "bigint"} if feed.order_by == "timestamp" else by_connector.get(feed.connector, {})) }}
{% endmacro %}


{#
    An initial snapshot's rows share one lsn and have `[null, lsn]`; the stream's first transactions have that lsn
    or a later one as the end of the transaction before. Rows of an incremental snapshot have the watermark's sequence:
    what the transaction did that committed next lies above them, also where its changes have a lower lsn than the watermark
    (`read.only` closes a window with a commit, PostgresReadOnlyIncrementalSnapshotChangeEventSource of Debezium 3.6).
#}
{% macro postgresql_position() -%}
    lpad(coalesce(from_json(source_sequence, 'array<string>')[0], from_json(source_sequence, 'array<string>')[1], source_lsn), 20, '0'),
        if(op = 'r', repeat('0', 20), lpad(coalesce(source_lsn, from_json(source_sequence, 'array<string>')[1]), 20, '0'))
{%- endmacro %}


{#
    MariaDB 11.4 and later (`binlog_legacy_event_pos=OFF`, its default) and MySQL with `binlog_transaction_compression` write no positions
    inside of a transaction: all of its events have one `pos`, and `row` begins anew with each statement (announce_shared_positions).
    The event's number in its transaction (`total_order`) is no remedy: a connector that starts again in a transaction counts anew (Debezium
    3.5), and the create of a move would lie below the delete of the row before it.
#}
{% macro binlog_position() -%}
    lpad(regexp_extract(source_file, '([0-9]+)$', 1), 10, '0'),
        lpad(source_pos, 20, '0'),
        lpad(coalesce(source_row, 0), 10, '0')
{%- endmacro %}


{#
    The transaction's end, the change in it, and of what one change wrote the row: hexadecimal numbers of fixed width. A
    snapshot's rows have the transaction's end alone.
#}
{% macro sqlserver_position() -%}
    lower(source_commit_lsn),
        if(op = 'r', '00000000:00000000:0000', lower(source_change_lsn)),
        lpad(if(op = 'r', '0', coalesce(source_event_serial_no, '0')), 10, '0')
{%- endmacro %}


{% macro has_sqlserver_position() %}
    {%- set pattern = "'^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}$'" -%}
    {{ return("coalesce(source_commit_lsn rlike " ~ pattern ~ " and (op = 'r' or source_change_lsn rlike " ~ pattern ~ "), false)") }}
{% endmacro %}


{#
    The SCN of the commit, of the change, and its place in the redo log (`rs_id` is hexadecimal, with or without 0x), then
    Debezium's own number of the event in its transaction. A snapshot's rows have the SCN that it was read at: what was committed by then is in them.
#}
{% macro oracle_position() -%}
    lpad(if(op = 'r', coalesce(source_scn, source_commit_scn), source_commit_scn), 24, '0'),
        lpad(if(op = 'r', '0', source_scn), 24, '0'),
        lpad(if(op = 'r', '0', coalesce(lower(regexp_replace(source_rs_id, '^ *0[xX]|[^0-9a-fA-F]', '')), '0')), 24, '0'),
        lpad(if(op = 'r', '0', coalesce(source_ssn, '0')), 10, '0'),
        lpad(if(op = 'r', '0', coalesce(source_txSeq, '0')), 10, '0')
{%- endmacro %}


{% macro has_oracle_position() %}
    {%- set pattern = "'^[0-9]{1,24}$'" -%}
    {{ return(
        "coalesce(if(op = 'r', coalesce(source_scn, source_commit_scn) rlike " ~ pattern
        ~ ", source_commit_scn rlike " ~ pattern ~ " and source_scn rlike " ~ pattern ~ "), false)"
    ) }}
{% endmacro %}


{# The oplog's cluster time: its second, and the event's number in it. #}
{% macro mongodb_position() -%}
    lpad(source_ts_ms div 1000, 20, '0'),
        lpad(source_ord, 10, '0')
{%- endmacro %}


{#
    Debezium 3.4 and later put the server's wall clock (`wallTime`, MongoDB 6) into `source.ts_ms` where the cluster time was
    (DBZ-9683). The number in a second orders nothing without the second that it counts in, and clocks run back.
#}
{% macro has_mongodb_position() -%}
    (source_ord is not null and source_ts_ms % 1000 = 0 and (
        coalesce(source_wallTime, 0) <> source_ts_ms or coalesce(source_version rlike '^([0-2]|3[.][0-3])[.]', false)
    ))
{%- endmacro %}
