{#
    What stands in the place of a value that the row has and the event does not, by connector. `since` is the first
    version of the connector, `types` are base types of Spark. `in_before`: `before` images have it, too, so that
    nothing there says that it is data. `complete_with`: the replica identity with which events have every value. Read
    in Debezium 3.7: UnchangedToastedPlaceholder, SqlServerChangeTablePointer, OracleDatabaseSchema,
    BinlogStreamingChangeEventSource, S3LargeMessagePostProcessor. MariaDB's connector has NULL where MySQL's has the
    placeholder.
#}
{% macro _unavailable_values() %}
{%- set rules -%}
# unavailable.value.placeholder: the value is as it was before the event.
placeholders:
  postgresql:
    product: PostgreSQL
    since: "1.0"
    types: [string, binary, array, map, struct, decimal]
    in_before: false
    complete_with: full
    values: out-of-line (TOAST) values that an update did not change
    remedy: "`ALTER TABLE ... REPLICA IDENTITY FULL`, then take a new snapshot."
  sqlserver:
    product: SQL Server
    since: "3.6"
    types: [string, binary]
    in_before: true
    values: values of varchar(max), nvarchar(max) and varbinary(max) that an update did not change
    remedy: >-
      Take a new snapshot of the table, or add ReselectColumnsPostProcessor to the connector's `post.processors`.
  oracle:
    product: Oracle
    since: "1.8"
    types: [string, binary]
    in_before: true
    values: LOB, XML, JSON and extended string values that an update did not change
    remedy: >-
      Set `lob.enabled=true` and take a new snapshot of the table, or add ReselectColumnsPostProcessor to the
      connector's `post.processors`.
  mysql:
    product: MySQL
    since: "3.7"
    types: [string, binary]
    in_before: true
    values: BLOB and TEXT values that an update did not change (`binlog_row_image=NOBLOB`)
    remedy: "Set `binlog_row_image=FULL` in the server and take a new snapshot of the table."
# Large values that were stored elsewhere: the text begins with `prefix`. The value may be another one than before the
# event.
references:
  - prefix: "__debezium:s3:ref:v1:"
    processor: S3LargeMessagePostProcessor
    place: an object in S3
    connectors: [postgresql, mysql, mariadb, sqlserver, oracle]
    types: [string, binary]
{%- endset -%}
{{ return(fromyaml(rules)) }}
{% endmacro %}
