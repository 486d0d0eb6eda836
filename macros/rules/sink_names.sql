{#
    How sinks name their objects: layout -> `pattern`, a regular expression (Python's) for the end of a path, with
    groups `topic`, `partition` and `offset`, of the first record, or `last_offset`. The first one that fits an object
    is its layout. Where names of other files fit it, too, `seen_by` is what has to fit as well before inspect tells the
    layout by it. `glob`: the pathGlobFilter of a topic whose objects have it in their names.
#}
{% macro _sink_names() %}
{%- set rules -%}
event_hubs:
  sinks: Azure Event Hubs Capture
  names: hub/partition/2026/01/31/23/59/59.avro
  pattern: '(?P<topic>[^/]+)/(?P<partition>[0-9]+)/[0-9]{4}/[0-9]{2}/[0-9]{2}/[0-9]{2}/[0-9]{2}/[0-9]{2}[.]avro$'
  source: https://learn.microsoft.com/azure/event-hubs/event-hubs-capture-overview
firehose:
  sinks: Amazon Data Firehose
  names: stream-version-2026-01-31-23-59-59-uuid
  pattern: "/[^/]+-[0-9]+-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{2}\
    -[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:[.][^/]*)?$"
  source: https://docs.aws.amazon.com/firehose/latest/dev/s3-object-name.html
msk:
  sinks: Amazon MSK Data Delivery
  names: topic+partition+offset-number-id
  pattern: '(?P<topic>[^/]+)[+](?P<partition>[0-9]+)[+](?P<offset>[0-9]+)-[^/+]*$'
  glob: '+*'
  source: https://docs.aws.amazon.com/msk/latest/developerguide/msk-data-delivery-s3-output-key-template.html
confluent_hdfs:
  sinks: Confluent HDFS 2 and HDFS 3, StreamX
  names: topic+partition+offset+offset.ext
  pattern: '(?P<topic>[^/]+)[+](?P<partition>[0-9]+)[+](?P<offset>[0-9]+)[+][0-9]+(?:[.][^/]*)?$'
  glob: '+*'
  source: https://docs.confluent.io/kafka-connectors/hdfs3-sink/current/overview.html
confluent:
  sinks: Confluent S3, GCS and Azure Blob Storage
  names: topic+partition+offset.ext
  pattern: '(?P<topic>[^/]+)[+](?P<partition>[0-9]+)[+](?P<offset>[0-9]+)(?:[.][^/]*)?$'
  glob: '+*'
  source: https://docs.confluent.io/kafka-connectors/s3-sink/current/overview.html
lenses:
  sinks: Lenses Stream Reactor S3, GCS and Azure Data Lake
  names: >-
    topic(partition_last offset).ext; without PARTITIONBY topic/partition/last offset.ext, and since version 8
    topic/partition/last offset_time_time.ext
  pattern: "(?P<topic>[^/]*)(?:[(](?=[0-9]+_)|/(?=[0-9]+/))(?P<partition>[0-9]+)[_/](?P<last_offset>[0-9]+)\
    (?:[)]|_[0-9]+_[0-9]+)?[.][^/]*$"
  seen_by: '[(][0-9]+_[0-9]+[)]|/[0-9]+/(?:[0-9]{10,}|[0-9]+(?=_[0-9]{13}_[0-9]{13}[.]))(?:_[0-9]+_[0-9]+)?[.]'
  glob: '(*'
  source: https://docs.lenses.io/latest/connectors/kafka-connectors/sinks/aws-s3
secor:
  sinks: Pinterest Secor
  names: generation_partition_offset.ext
  pattern: '/[0-9]+_(?P<partition>[0-9]+)_(?P<offset>[0-9]{20})(?:[.][^/]*)?$'
  source: https://github.com/pinterest/secor/blob/master/src/main/java/com/pinterest/secor/common/LogFilePath.java
aiven:
  sinks: Aiven S3 and GCS, Redpanda Connect with such a path
  names: topic-partition-offset.ext, or topic-partition-offset-time.ext
  pattern: '(?P<topic>[^/]+?)-(?P<partition>[0-9]+)-(?P<offset>[0-9]+)(?:-(?:19|20)[0-9]{6,}[^/.]*)?(?:[.][^/]*)?$'
  # Dates, and what Spark and Flink call their parts, have numbers, too.
  seen_by: "/(?!part-)(?![^/]*-[0-9]{1,2}-[0-9]{1,2}-(?:19|20)[0-9]{2}(?:[.]|$))\
    [^/]*[^/0-9-][^/]*?(?<!-(?:19|20)[0-9]{2})\
    -(?!(?:19|20)[0-9]{2}-)(?!(?<=[^0-9](?:19|20)[0-9]{2}-)[0-9]{2}-[0-9]{2}(?![0-9]))(?:0|[1-9][0-9]{0,3})\
    -(?:0|[1-9][0-9]{0,18}|[0-9]{10}|[0-9]{20})(?:-(?:19|20)[0-9]{6,}[^/.]*)?(?:[.][^/]*)?$"
  glob: '-[0-9]*'
  is_doubtful: true
  source: https://github.com/Aiven-Open/s3-connector-for-apache-kafka
{%- endset -%}
{{ return(fromyaml(rules)) }}
{% endmacro %}
