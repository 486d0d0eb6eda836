{#
    Messages of tools other than Debezium. Each format has `name`, `source` (where it is documented), `advice` where
    more can be done than to land other files, and `forms`. A record is of a format if one of its forms holds:
    - `has`: fields that are there, NULL or not;
    - `matches`: by the path of a field, a regular expression that its text has to match (Java's and Python's). The text
      of an object or array is its JSON without blanks, of NULL there is none. The first name of a path has to be there.
      The path `*`, alone, is each field whose value is an object, one at least; a format with it comes last;
    - `may_have`: if given, the record has no other fields than these and those above.
    The first format that holds counts. A form names what hardly any row of a table has together: one name, such as
    `type`, is never enough. A format that is read one day gets `read`, with the paths of `operation`, `before`,
    `after`, `key`, `position` and `time`.
#}
{% macro _message_formats() -%}
{%- set rules -%}
- name: CloudEvents
  source: https://debezium.io/documentation/reference/stable/integrations/cloudevents.html
  advice: >-
    Set `value.converter` to `org.apache.kafka.connect.json.JsonConverter`, or to an Avro converter, and take a new
    snapshot.
  forms:
    - {has: [id, source, type], matches: {specversion: "^[0-9.]+$", iodebeziumop: "."}}
    - {has: [id, source], matches: {specversion: "^[0-9.]+$", type: "^io[.]debezium[.]"}}
    - {has: [id, source, type], matches: {specversion: "^[0-9.]+$", data: '^[{]"(before|after)":'}}
    - {has: [id, source, type], matches: {specversion: "^[0-9.]+$", data.payload: '^[{]"(before|after)":'}}
- name: Canal JSON
  source: https://github.com/alibaba/canal/wiki/Canal-Kafka-RocketMQ-QuickStart
  forms:
    - {has: [database, table, data], matches: {type: "^[A-Z_]+$", isDdl: "^(true|false)$"}}
    - matches: {type: "^(INSERT|UPDATE|DELETE)$", data: '^\[[{]'}
      may_have: [old, database, table, ts, es, id, pkNames, sql, sqlType, mysqlType, gtid, _tidb]
    - {has: [_tidb], matches: {type: "^TIDB_"}}
- name: Maxwell
  source: https://maxwells-daemon.io/dataformat/
  forms:
    - has: [database, table]
      matches: {type: "^(insert|update|delete|bootstrap-(start|insert|complete))$", data: "^[{]"}
    - {has: [database, table], matches: {type: "^bootstrap-(start|insert|complete)$"}}
    - {has: [database], matches: {type: "^(table|database)-(create|alter|drop)$", sql: "."}}
    - {matches: {type: "^(insert|update|delete)$", data: "^[{]"}, may_have: [old, database, table, ts]}
- name: GoldenGate JSON
  source: https://docs.oracle.com/en/middleware/goldengate/big-data/
  forms:
    - {matches: {op_type: "^(I|U|D|T|K|R|INSERT|UPDATE|DELETE|TRUNCATE)$", after: "^[{]"}}
    - {matches: {op_type: "^(I|U|D|T|K|R|INSERT|UPDATE|DELETE|TRUNCATE)$", before: "^[{]"}}
    - has: [table, op_ts, pos]
      matches: {op_type: "^T$"}
      may_have: [current_ts, csn, tokens, primary_keys, before, after]
- name: AWS DMS messages
  source: https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kinesis.html
  advice: Have DMS write to S3 instead, with its operation column; those files of rows are read.
  forms:
    - {matches: {metadata.record-type: "^(data|control)$", metadata.operation: "^[a-z-]+$"}}
- name: CockroachDB changefeed
  source: https://www.cockroachlabs.com/docs/stable/changefeed-message-envelopes
  forms:
    - {has: [after], matches: {updated: "^[0-9]{10,}[.][0-9]{10}$"}}
    - {has: [after], matches: {mvcc_timestamp: "^[0-9]{10,}[.][0-9]{10}$"}}
    - {has: [after], matches: {key: '^\['}, may_have: [before, topic, updated, mvcc_timestamp, cursor, diff]}
    - {matches: {after: "^[{]"}, may_have: [key, topic]}
    - {matches: {resolved: "^[0-9]{10,}[.][0-9]{10}$"}, may_have: []}
    - {matches: {__crdb__: "^[{]"}}
    - {has: [op], matches: {source.origin: "^cockroachdb$"}}
    - {matches: {payload: '^\[[{]', length: "^[0-9]+$"}, may_have: []}
- name: TiCDC Open Protocol
  source: https://docs.pingcap.com/tidb/stable/ticdc-open-protocol
  forms:
    - {matches: {u: '^[{]"[^"]*":[{]"[thfv]":'}, may_have: [p]}
    - {matches: {d: '^[{]"[^"]*":[{]"[thfv]":'}, may_have: []}
    - {matches: {q: "^(?i:create|alter|drop|rename|truncate) ", t: "^[0-9]+$"}, may_have: []}
- name: TiCDC Simple Protocol
  source: https://docs.pingcap.com/tidb/stable/ticdc-simple-protocol
  forms:
    - {has: [version], matches: {type: "^[A-Z_]+$", commitTs: "^[0-9]+$", buildTs: "^[0-9]+$"}}
- name: OceanBase (OMS) messages
  source: https://en.oceanbase.com/docs/oms-doc-en
  forms:
    - {has: [prevStruct, postStruct], matches: {recordType: "^[A-Z_]+$"}}
- name: MongoDB change stream
  source: https://www.mongodb.com/docs/manual/reference/change-events/
  advice: Use Debezium's connector for MongoDB.
  forms:
    - {has: [_id], matches: {operationType: "^[a-z][A-Za-z]+$", ns: "^[{]"}}
    - {matches: {operationType: "^[a-z][A-Za-z]+$", _id: '^[{]"_data":'}}
    - {matches: {operationType: "^(insert|update|replace|delete)$", documentKey: "^[{]"}}
- name: wal2json
  source: https://github.com/eulerto/wal2json
  advice: Use Debezium's connector for PostgreSQL.
  forms:
    - {matches: {change: '^\[(\]|[{]"kind":)'}, may_have: [xid, nextlsn, timestamp, origin]}
    - {has: [schema, table], matches: {action: "^[IU]$", columns: '^\['}}
    - {has: [schema, table], matches: {action: "^D$", identity: '^\['}}
    - {matches: {action: "^(B|C)$"}, may_have: [xid, timestamp, origin, lsn, nextlsn]}
    - {has: [schema, table], matches: {action: "^T$"}, may_have: [xid, timestamp, origin, lsn, nextlsn]}
    - {has: [transactional, prefix, content], matches: {action: "^M$"}}
- name: Qlik Replicate messages
  source: https://help.qlik.com/en-US/replicate/Content/Replicate/Main/Kafka/kafka_target.htm
  forms:
    - {matches: {magic: "^atMSG$", message: "^[{]"}}
    - {has: [data], matches: {headers.operation: "^[A-Z]+$", headers.changeSequence: "."}}
- name: Striim JSON
  source: https://www.striim.com/docs/
  forms:
    - {has: [data], matches: {metadata.OperationName: "^[A-Za-z]+$", metadata.TableName: "."}}
- name: Google Datastream
  source: https://cloud.google.com/datastream/docs/events-and-streams
  forms:
    - {has: [uuid, read_timestamp], matches: {source_metadata: "^[{]", payload: "^[{]"}}
- name: Airbyte raw records
  source: https://docs.airbyte.com/integrations/destinations/s3
  advice: Have Airbyte flatten the records at the root level; those rows are read, with `apply_as_deletes`.
  forms:
    - {has: [_airbyte_data, _airbyte_raw_id]}
    - {has: [_airbyte_data, _airbyte_ab_id]}
    - {matches: {type: "^RECORD$", record.data: "^[{]", record.stream: "."}}
    - {matches: {type: "^STATE$", state: "^[{]"}}
    - {matches: {type: "^LOG$", log: "^[{]"}}
    - {matches: {type: "^TRACE$", trace: "^[{]"}}
- name: Singer messages
  source: https://github.com/singer-io/getting-started/blob/master/docs/SPEC.md
  forms:
    - {matches: {type: "^RECORD$", stream: ".", record: "^[{]"}}
    - {matches: {type: "^SCHEMA$", stream: ".", schema: "^[{]"}}
    - {matches: {type: "^STATE$", value: "^[{]"}, may_have: []}
    - {has: [version], matches: {type: "^ACTIVATE_VERSION$", stream: "."}, may_have: []}
- name: Flink changelog-json
  source: https://github.com/apache/flink-cdc
  forms:
    - {matches: {op: "^([+]I|-U|[+]U|-D)$", data: "^[{]"}, may_have: []}
- name: Envelopes without source (CockroachDB, Flink, Materialize, RisingWave)
  source: https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/formats/debezium/
  advice: "They do not say the position of a change: land the envelopes of Debezium's own connector."
  forms:
    - {has: [before, after], matches: {op: "^[cudr]$"}, may_have: [ts_ms, transaction]}
    - {has: [before], matches: {after: "^[{]"}, may_have: [transaction]}
    - {has: [after], matches: {before: "^[{]"}, may_have: [transaction]}
- name: Estuary Flow
  source: https://docs.estuary.dev/concepts/captures/
  forms:
    - {matches: {_meta.op: "^[cud]$", _meta.source: "^[{]"}}
- name: Sequin
  source: https://sequinstream.com/docs/reference/messages
  forms:
    - {matches: {record: "^[{]", action: "^(insert|update|delete|read)$", metadata.table_name: "."}}
- name: Supabase webhooks
  source: https://supabase.com/docs/guides/database/webhooks
  forms:
    - {has: [table, schema, record, old_record], matches: {type: "^(INSERT|UPDATE|DELETE)$"}}
- name: DynamoDB streams and exports
  source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
  forms:
    - {matches: {eventName: "^(INSERT|MODIFY|REMOVE)$", dynamodb: "^[{]"}}
    - {matches: {Item: '^[{]"[^"]*":[{]"(S|N|B|BOOL|NULL|M|L|SS|NS|BS)":'}, may_have: []}
    - {matches: {Keys: "^[{]", Metadata: '^[{]"WriteTimestampMicros":'}}
- name: Spanner change streams
  source: https://cloud.google.com/spanner/docs/change-streams/details
  forms:
    - {matches: {mods: '^\[', modType: "^(INSERT|UPDATE|DELETE)$"}}
- name: Cosmos DB change feed
  source: https://learn.microsoft.com/azure/cosmos-db/nosql/change-feed-modes
  forms:
    - {matches: {metadata.operationType: "^(create|replace|delete)$", metadata.lsn: "."}}
- name: Salesforce change events
  source: https://developer.salesforce.com/docs/atlas.en-us.change_data_capture.meta/change_data_capture/
  forms:
    - {matches: {ChangeEventHeader: "^[{]"}}
    - {matches: {payload.ChangeEventHeader: "^[{]"}}
- name: Azure Event Hubs Capture
  source: https://learn.microsoft.com/azure/event-hubs/event-hubs-capture-overview
  advice: >-
    The change is bytes in `Body`. Land the events with a Kafka Connect sink, which Event Hubs serves over Kafka's
    protocol.
  forms:
    - {has: [SequenceNumber, Offset, EnqueuedTimeUtc, Body]}
- name: Amazon EventBridge events
  source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
  advice: The change is in `detail`. Land that alone, such as with an input transformer.
  forms:
    - has: [source, account, region]
      matches: {detail-type: ".", detail: '"(before|after|dynamodb|operationType|record-type|op_type)":'}
- name: Amazon SNS notifications
  source: https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
  advice: The change is a text in `Message`. Turn on raw message delivery.
  forms:
    - {has: [MessageId, TopicArn, Message], matches: {Type: "^Notification$"}}
- name: Google Pub/Sub push messages
  source: https://cloud.google.com/pubsub/docs/push
  advice: The change is base64 in `message.data`. Use a Cloud Storage subscription, or turn on payload unwrapping.
  forms:
    - {matches: {message.data: ".", message.messageId: ".", subscription: "^projects/"}}
- name: Records dumped by kcat
  source: https://github.com/edenhill/kcat
  advice: Land the values with a Kafka Connect sink, which keeps their offsets.
  forms:
    - {has: [key, payload], matches: {topic: ".", partition: "^[0-9]+$", offset: "^[0-9]+$", tstype: "."}}
- name: Values in objects (Cassandra, ScyllaDB, YugabyteDB)
  source: https://debezium.io/documentation/reference/stable/connectors/cassandra.html
  advice: Have the connector send plain values; for YugabyteDB, set the transform `YBExtractNewRecordState`.
  forms:
    - has: [op, source]
      matches: {after: &objects '^[{]"[^"]*":[{]"value":[^{}]*[}](,"[^"]*":(null|[{]"value":[^{}]*[}]))*[}]$'}
    - {has: [op, source], matches: {before: *objects }}
- name: Hasura event triggers
  source: https://hasura.io/docs/2.0/event-triggers/payload/
  forms:
    - {matches: {event.op: "^[A-Z]+$", event.data: "^[{]", trigger: "."}}
- name: AWS Lambda events (SQS, SNS, Kinesis, DynamoDB)
  source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-create.html
  advice: Land the records that are inside of `Records`, each on a line.
  forms:
    - {matches: {Records: '^\[[{].*"(eventSource|EventSource)":"aws:'}, may_have: []}
- name: Snowflake's Kafka connector
  source: https://docs.snowflake.com/en/user-guide/kafka-connector-overview
  advice: The change is in `RECORD_CONTENT`. Land the values of the topic with a sink for files.
  forms:
    - {has: [RECORD_METADATA, RECORD_CONTENT]}
- name: OpenLogReplicator
  source: https://github.com/bersler/OpenLogReplicator
  advice: Have Debezium's connector for Oracle read OpenLogReplicator (`database.connection.adapter` is `olr`).
  forms:
    - {has: [scn], matches: {payload: '^\[[{]"op":"'}}
- name: MongoDB oplog entries
  source: https://www.mongodb.com/docs/manual/core/replica-set-oplog/
  forms:
    - {has: [ts, ns, o], matches: {op: "^(i|u|d|c|n)$"}}
- name: CouchDB changes
  source: https://docs.couchdb.org/en/stable/api/database/changes.html
  forms:
    - {has: [seq, id], matches: {changes: '^\[[{]"rev":'}}
- name: Feldera
  source: https://docs.feldera.com/formats/json
  forms:
    - {matches: {insert: "^[{]"}, may_have: []}
    - {matches: {delete: "^[{]"}, may_have: []}
- name: Debezium's envelopes inside of another message
  source: https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events
  advice: Land the envelope alone, each on a line.
  forms:
    - {matches: {value: &envelope '(?s)^(?=.*"source" *:)(?=.*"op" *:)[{].*"(before|after)" *:'}}
    - {matches: {message: *envelope }}
    - {matches: {data: *envelope }}
    - {matches: {event: *envelope }}
    - {matches: {payload: *envelope }}
    - {matches: {records: '(?s)^(?=.*"source" *:)(?=.*"op" *:)\[.*"(before|after)" *:'}}
- name: Values with more of Kafka's record beside them (Aiven, Kafka REST)
  source: https://github.com/Aiven-Open/s3-connector-for-apache-kafka#data-format
  advice: >-
    Land the value alone. For Aiven's sinks, set `format.output.fields` to `value` and `format.output.envelope` to
    `false`.
  forms:
    - {matches: {value: "^[{]"}, may_have: []}
    - {has: [offset], matches: {value: "^[{]"}, may_have: [key, timestamp, headers, topic, partition]}
- name: Avro's JSON encoding
  source: https://avro.apache.org/docs/1.12.0/specification/#json-encoding
  advice: Land Avro files, or JSON of `org.apache.kafka.connect.json.JsonConverter`.
  forms:
    - {has: [op, source], matches: {ts_ms: '^[{]"long":'}}
    - {has: [op, source], matches: {after: '^[{]"[A-Za-z_]\w*([.][A-Za-z_]\w*)+":[{]'}}
    - {has: [op, source], matches: {before: '^[{]"[A-Za-z_]\w*([.][A-Za-z_]\w*)+":[{]'}}
    - matches:
        "*": "^[{]\"(string|bytes)\":\"([^\"\\\\]|\\\\.)*\"[}]$\
          |^[{]\"(int|long|float|double)\":-?[0-9.eE+-]+[}]$\
          |^[{]\"boolean\":(true|false)[}]$"
{%- endset -%}
{{ return(fromyaml(rules)) }}
{%- endmacro %}
