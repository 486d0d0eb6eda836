{#
    The connectors whose envelopes are known, by the name in `source.connector` (compared in lower case), and what in
    `source` orders their changes.

    `position`: the parts from the most to the least significant, each padded to `width` characters. `of` are fields in
    the order in which they are preferred, each with a regular expression whose groups are the part; without one a field
    is a whole number above 0. A part that no field has leaves the change without a position, unless it may be absent
    (`default`). `in_snapshots`: the same for a row of a snapshot (`op: r`), or a constant. `unlike`: a field whose
    value the part must not have, unless another field matches. `add_fields`: what ExtractNewRecordState has to add.
    `recognised_by`: fields that no other connector has, where flattened records do not name theirs.

    Without `position` only offsets order the changes, and `advice` says what can be done. Regular expressions mean the
    same in Java and Python.
    Read in Debezium 3.7 (SourceInfo of each connector), TiCDC 8.5 and YugabyteDB's connector 1.9.5.y.
#}
{% macro _connectors() %}
{%- set rules -%}
postgresql:
  # Both numbers of `source.sequence`: the end of the transaction that finished before, then the event's own lsn. An
  # initial snapshot's rows share one lsn and have `[null, lsn]`; the first transactions of the stream have that lsn or
  # a later one as the end of the transaction before. Rows of an incremental snapshot have the watermark's sequence:
  # what the transaction did that committed next lies above them, also where its changes have a lower lsn than the
  # watermark (`read.only` closes a window with a commit, PostgresReadOnlyIncrementalSnapshotChangeEventSource of
  # Debezium 3.6).
  position:
    - width: 20
      of:
        - {field: sequence, pattern: '^\[ *"([0-9]{1,20})", *"0*[1-9][0-9]*"'}
        - {field: sequence, pattern: '^\[ *null, *"0*([1-9][0-9]{0,19})"'}
        - {field: lsn}
    - width: 20
      of:
        - {field: lsn}
        - {field: sequence, pattern: ', *"0*([1-9][0-9]{0,19})" *\]$'}
      in_snapshots: "0"
  add_fields: source.lsn,source.sequence
  recognised_by: [lsn, sequence]
mysql: &binlog
  # MariaDB 11.4 and later (`binlog_legacy_event_pos=OFF`, its default) and MySQL with `binlog_transaction_compression`
  # write no positions inside of a transaction: all of its events have one `pos`, and `row` begins at 0 with each
  # statement (`_announce_shared_positions`). The event's number in its transaction (`total_order`) does not help: a
  # connector that restarts within a transaction counts from 1 again (Debezium 3.5).
  position:
    - width: 10
      of: [{field: file, pattern: '(?:^|[^0-9])([0-9]{1,10})$'}]
    - width: 20
      of: [{field: pos}]
    - width: 10
      of: [{field: row, pattern: '^([0-9]{1,10})$'}]
      default: "0"
  add_fields: source.file,source.pos,source.row
  recognised_by: [pos]
mariadb: *binlog
sqlserver:
  # The transaction's end, the change in it, and which row of the change: hexadecimal numbers of fixed width. A
  # snapshot's rows have the first only.
  position:
    - width: 22
      of: [{field: commit_lsn, pattern: '^([0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4})$'}]
    - width: 22
      of: [{field: change_lsn, pattern: '^([0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4})$'}]
      in_snapshots: "00000000:00000000:0000"
    - width: 10
      of: [{field: event_serial_no, pattern: '^([0-9]{1,10})$'}]
      default: "0"
      in_snapshots: "0"
  add_fields: source.commit_lsn,source.change_lsn,source.event_serial_no
  recognised_by: [commit_lsn, event_serial_no]
oracle:
  # The SCN of the commit, of the change, and its place in the redo log (`rs_id` is hexadecimal, with or without 0x),
  # then Debezium's own number of the event in its transaction. A snapshot's rows have the SCN that it was read at: what
  # was committed by then is in them.
  position:
    - width: 24
      of: [{field: commit_scn, pattern: '^0*([1-9][0-9]{0,23})$'}]
      in_snapshots:
        - {field: scn, pattern: '^0*([1-9][0-9]{0,23})$'}
        - {field: commit_scn, pattern: '^0*([1-9][0-9]{0,23})$'}
    - width: 24
      of: [{field: scn, pattern: '^([0-9]{1,24})$'}]
      in_snapshots: "0"
    - width: 24
      of:
        - field: rs_id
          pattern: '^ *(?:0[xX])?([0-9a-fA-F]{1,8})(?:[.]([0-9a-fA-F]{1,8}))?(?:[.]([0-9a-fA-F]{1,8}))? *$'
      default: "0"
      in_snapshots: "0"
    - width: 10
      of: [{field: ssn, pattern: '^([0-9]{1,10})$'}]
      default: "0"
      in_snapshots: "0"
    - width: 10
      of: [{field: txSeq, pattern: '^([0-9]{1,10})$'}]
      default: "0"
      in_snapshots: "0"
  add_fields: source.commit_scn,source.scn,source.rs_id,source.ssn
  recognised_by: [scn, commit_scn]
mongodb:
  # The oplog's cluster time: its second, and the event's number in it. Debezium 3.1 and later (DBZ-8708) give rows of a
  # snapshot the connector's clock, and -1 where the change stream was quiet; 3.4 and later (DBZ-9683) give streamed
  # events the server's wall clock where MongoDB sends one (6.0 and later). Clocks run back, and the number in a second
  # orders nothing without the second that it counts in.
  position:
    - width: 20
      of: [{field: ts_ms, pattern: '^0*([1-9][0-9]{0,15})000$'}]
      unlike: {field: wallTime, unless: {field: version, pattern: '^([0-2]|3[.][0-3])[.]'}}
    - width: 10
      of: [{field: ord, pattern: '^([0-9]{1,10})$'}]
  add_fields: source.ts_ms,source.ord,source.wallTime,source.version
  recognised_by: [ord]
db2: &by_offset
  advice: Only the offsets order its changes.
db2as400: *by_offset
informix: *by_offset
ingres: *by_offset
vitess: *by_offset
spanner: *by_offset
cockroachdb: *by_offset
singlestore: *by_offset
ticdc: *by_offset
# Values in objects that these two send are a format of their own (`_message_formats`).
yugabytedb: *by_offset
cassandra: *by_offset
# Any other writer of Debezium's envelopes, and records that do not name their connector.
other: *by_offset
{%- endset -%}
{{ return(fromyaml(rules)) }}
{% endmacro %}
