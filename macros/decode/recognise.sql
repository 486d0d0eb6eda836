{#
    The record's own fields and its kind. A record is known by its shape, never by its topic: heartbeats,
    transaction markers, schema changes, logical messages and tombstones may lie among the row changes.
#}
{% macro _recognise(feed) %}
    {%- set by_shape = {
        "envelope": alluvium._recognise_envelope, "flattened": alluvium._recognise_flattened,
        "row": alluvium._recognise_row
    } -%}
    {{ return(by_shape[feed.shape](feed)) }}
{% endmacro %}


{# The image that is not the row image: of an update the one before it. #}
{% macro _other_image(feed) %}
    {%- set image = "if(record_op = 'd', record_after, record_before)" -%}
    {{ return(alluvium._document_fields(image) if feed.connector == "mongodb" else image) }}
{% endmacro %}


{% macro _recognise_envelope(feed) -%}
{%- set record = "lines[0].value" if feed.store_envelope else "lines[0]" -%}
unwrapped as (
    select
        *,
        {{ alluvium._is_malformed() }} as malformed,
        {%- for field in ["op", "before", "after", "source", "transaction", "ts_ms", "status", "databaseName"] %}
        coalesce({{ record }}.payload.{{ field }}, {{ record }}.{{ field }}) as record_{{ field }},
        {%- endfor %}
        coalesce(
            semantic_types,
            {{ alluvium._semantic_types_of_fields(
                    "filter(" ~ record ~ ".schema.fields, field -> field.field = 'after')[0].fields"
                )
                | indent(4) }}
        ) as record_semantic_types
    from parsed
),

recognised as (
    select
        {{ alluvium._carried_columns(feed) | indent(8) }},
        record_semantic_types as semantic_types,
        {%- if alluvium._keeps_before_images(feed) %}
        {{ alluvium._record_of_image(feed) | indent(8) }},
        {%- else %}
        record_op as op,
        {{ alluvium._row_image_of_envelope(feed) | indent(8) }} as row_image,
        {%- endif %}
        {%- if alluvium._has_unavailable_values(feed) or alluvium._keeps_before_images(feed)
            or alluvium._compares_keys(feed) %}
        if(record_op = 'u', record_before, null) as image_before,
        {%- endif %}
        {%- if feed.purge_filter %}
        {{ alluvium._other_image(feed) | indent(8) }} as other_image,
        {%- endif %}
        {{ alluvium._record_kind(feed, alluvium._kind_of_envelope(feed)) }} as kind,
        timestamp_micros(coalesce(record_source.ts_us, try_multiply(record_source.ts_ms, 1000))) as source_ts,
        record_source.snapshot as snapshot,
        coalesce(record_source.gtid, record_source.txId, record_transaction.id) as transaction_id,
        record_transaction.total_order as transaction_order
        {%- for field in alluvium._source_fields(feed) %},
        record_source.{{ field }} as source_{{ field }}
        {%- endfor %}
    from unwrapped
    {%- if alluvium._keeps_before_images(feed) %}
    {{ alluvium._images_of_record() | indent(4) }}
    {%- endif %}
)
{%- endmacro %}


{% macro _kind_of_envelope(feed) -%}
    case
                {%- if feed.connector == "mongodb" %}
                when record_op = 'u' and record_after is null then 'rejected'
                {%- endif %}
                when record_op in ('c', 'u', 'd', 'r') then 'change'
                when record_op = 't' then 'truncate'
                when record_op = 'm' and record_source is not null then 'message'
                when record_op is not null then 'rejected'
                when record_status in ('BEGIN', 'END')
                    and {{ alluvium._has_only_fields(
                        feed, ["status", "id", "event_count", "data_collections", "ts_ms"]
                    ) }}
                    then 'transaction'
                when record_databaseName is not null
                    and {{ alluvium._has_only_fields(
                        feed, ["source", "ts_ms", "databaseName", "schemaName", "ddl", "tableChanges"]
                    ) }}
                    then 'schema_change'
                when record_ts_ms is not null and {{ alluvium._has_only_fields(feed, ["ts_ms"]) }} then 'heartbeat'
                else 'rejected'
            end
{%- endmacro %}


{#
    A control record is known by all of its fields: a row of a table that has a column like one of them is none. Asked
    of lines only that are no row change, so it costs nothing on the others.
#}
{% macro _has_only_fields(feed, fields) %}
    {%- set record = "get_json_object(value, '$.value')" if feed.store_envelope else "value" -%}
    {%- set path = "$.value.payload" if feed.store_envelope else "$.payload" -%}
    {{ return(
        "size(array_except(json_object_keys(coalesce(get_json_object(value, '" ~ path ~ "'), " ~ record ~ ")), "
        ~ alluvium._literal_array(fields) ~ ")) = 0"
    ) }}
{% endmacro %}


{#
    ExtractNewRecordState leaves the row and, under `add_fields_prefix`, what `add.fields` asked for. A logical
    message passes through it unflattened; transaction markers and heartbeats are not rows at all.
#}
{% macro _recognise_flattened(feed) -%}
{%- set prefix = alluvium._string_literal(feed.add_fields_prefix)[1:-1] -%}
{{ alluvium._flattened_operations(feed) }},

recognised as (
    select
        {{ alluvium._carried_columns(feed) | indent(8) }},
        record_semantic_types as semantic_types,
        record_op as op,
        fields as row_image,
        {{ alluvium._record_kind(
            feed,
            "case"
            ~ "\n                when record_op in ('c', 'u', 'd', 'r')"
            ~ " and coalesce(fields['" ~ prefix ~ "op'], fields['" ~ prefix ~ "deleted']) is not null"
            ~ "\n                    then 'change'"
            ~ alluvium._flattened_control_kinds(feed)
            ~ "\n                when record_op in ('c', 'u', 'd', 'r') then 'change'"
            ~ "\n                when record_op = 't' then 'truncate'"
            ~ "\n                else 'rejected'"
            ~ "\n            end"
        ) }} as kind,
        timestamp_micros(try_multiply(
            try_cast(coalesce(fields['{{ prefix }}source_ts_ms'], fields['{{ prefix }}ts_ms']) as bigint), 1000
        )) as source_ts,
        coalesce(fields['{{ prefix }}source_snapshot'], fields['{{ prefix }}snapshot']) as snapshot,
        coalesce(
            fields['{{ prefix }}transaction_id'], fields['{{ prefix }}source_txId'], fields['{{ prefix }}txId']
        ) as transaction_id,
        try_cast(fields['{{ prefix }}transaction_total_order'] as bigint) as transaction_order
        {%- for field, type in alluvium._source_fields(feed).items() %},
        {{ alluvium._flattened_source_field(field, type, prefix) }} as source_{{ field }}
        {%- endfor %}
    from operations
)
{%- endmacro %}


{#
    Control records among flattened rows: known by all of their fields (Debezium 3.6.3; `ts_ms` of markers came with 2),
    and only where no added field says that the record is a row. Where a table has columns like them and its key is one
    of them, such a record is its row.
#}
{% macro _flattened_control_kinds(feed) %}
    {%- set kinds = [
        ("message", ["message", "op", "source"], ["transaction", "ts_ms", "ts_ns", "ts_us"], "fields['op'] = 'm' and "),
        (
            "transaction", ["data_collections", "event_count", "id", "status"], ["ts_ms"],
            "fields['status'] in ('BEGIN', 'END') and "
        ),
        ("schema_change", ["databaseName", "ddl", "source", "tableChanges"], ["schemaName", "ts_ms"], ""),
        ("heartbeat", ["ts_ms"], [], ""),
    ] -%}
    {%- set declared = alluvium._declared_columns(feed) | map(attribute="name") | list -%}
    {%- set branches = [] -%}
    {%- for kind, required, optional, condition in kinds
        if required | reject("in", declared) | list or feed.key | reject("in", required + optional) | list -%}
        {%- set names = "array_except(map_keys(fields), " ~ alluvium._literal_array(optional) ~ ")" if optional
            else "map_keys(fields)" -%}
        {%- do branches.append(
            "\n                when " ~ condition ~ "array_sort(" ~ names ~ ") = " ~ alluvium._literal_array(required)
            ~ " then '" ~ kind ~ "'"
        ) -%}
    {%- endfor -%}
    {{ return(branches | join) }}
{% endmacro %}


{#
    `add.fields=source.lsn` and `add.fields=lsn` name it differently; `ts_ms` without its struct is the connector's
    clock.
#}
{% macro _flattened_source_field(field, type, prefix) %}
    {%- set text = "fields['" ~ prefix ~ "source_" ~ field ~ "']" -%}
    {%- set text =
        text if field in ["ts_ms", "ts_us"] else "coalesce(" ~ text ~ ", fields['" ~ prefix ~ field ~ "'])" -%}
    {{ return(text if type == "string" else "try_cast(" ~ text ~ " as " ~ type ~ ")") }}
{% endmacro %}


{#
    The fields of a flattened record and its operation; where nothing says whether it is a delete, one that no record
    has.
#}
{% macro _flattened_operations(feed) -%}
{%- set prefix = alluvium._string_literal(feed.add_fields_prefix)[1:-1] -%}
{{ alluvium._fields_of_flattened_envelope(feed) if feed.reads_envelopes else alluvium._fields_of_record(feed) }},

operations as (
    select
        *,
        case
            when lower(fields['{{ prefix }}deleted']) = 'true' then 'd'
            when lower(fields['{{ prefix }}deleted']) <> 'false'
                then concat('{{ prefix }}deleted ', fields['{{ prefix }}deleted'])
            else coalesce(fields['{{ prefix }}op'], 'u')
        end as record_op
    from rows
)
{%- endmacro %}


{% macro _unwrapped(feed, record) -%}
unwrapped as (
    select
        *,
        {{ alluvium._is_malformed() }} as malformed,
        {{ alluvium._is_wrapped(feed, record) }} as is_wrapped
    from parsed
)
{%- endmacro %}


{# The fields of a record that is not an envelope, from the payload where it has a schema. #}
{% macro _fields_of_record(feed) -%}
{%- set record = "lines[0].value" if feed.store_envelope else "lines[0]" -%}
{{ alluvium._unwrapped(feed, record) }},

rows as (
    select
        *,
        {{ alluvium._row_of_record(record) }} as fields,
        if(
            is_wrapped,
            {{ alluvium._semantic_types_of_row(record) | indent(4) }},
            semantic_types
        ) as record_semantic_types
    from unwrapped
)
{%- endmacro %}


{# Of the columns of a row, from the schema beside its payload. #}
{% macro _semantic_types_of_row(record) %}
    {{ return(
        alluvium._semantic_types_of_fields(
            "from_json(" ~ record ~ "['schema'], 'struct<fields:" ~ alluvium._schema_fields_type() ~ ">').fields"
        )
    ) }}
{% endmacro %}


{#
    Those of a record that may be an envelope, too: one from before ExtractNewRecordState was set, in the same topic.
    Its fields get the names that ExtractNewRecordState would have given them, and all that follows is that of a
    flattened record.
#}
{% macro _fields_of_flattened_envelope(feed) -%}
{%- set record = "lines[0].value" if feed.store_envelope else "lines[0]" -%}
{{ alluvium._unwrapped(feed, record) }},

told as (
    select
        *,
        {{ alluvium._row_of_record(record) }} as record_fields
    from unwrapped
),

shapes as (
    select
        *,
        {{ alluvium._is_envelope("record_fields") | indent(8) }} as is_envelope
    from told
),

rows as (
    select
        *,
        if(is_envelope, {{ alluvium._flattened_envelope(feed) | indent(8) }}, record_fields) as fields,
        case
            when not is_wrapped then semantic_types
            when is_envelope
                then {{ alluvium._semantic_types_of_fields(
                    "filter(from_json(" ~ record ~ "['schema'], '" ~ alluvium._envelope_schema_type()
                    ~ "').fields, field -> field.field = 'after')[0].fields"
                ) | indent(16) }}
            else {{ alluvium._semantic_types_of_row(record) | indent(12) }}
        end as record_semantic_types
    from shapes
)
{%- endmacro %}


{#
    All of its fields are an envelope's (Debezium 3.7), and it has those that every envelope has. A logical message has
    one more.
#}
{% macro _is_envelope(fields) -%}
coalesce(
    {{ fields }}['op'] is not null
    and map_contains_key({{ fields }}, 'source')
    and size(array_except(
        map_keys({{ fields }}),
        {{ alluvium._literal_array(["before", "after", "source", "op", "ts_ms", "ts_us", "ts_ns", "transaction"]) }}
    )) = 0,
    false
)
{%- endmacro %}


{# The image, the fields of `source`, and the rest, under the names that the flattened records of the feed have. #}
{% macro _flattened_envelope(feed) -%}
{%- set prefix = alluvium._string_literal(feed.add_fields_prefix)[1:-1] -%}
map_concat(
    {#- Equal names would stop the run. #}
    map_filter(
        coalesce(
            from_json(
                record_fields[if(record_fields['op'] = 'd', 'before', 'after')],
                'map<string,string>',
                {{ alluvium._json_options() }}
            ),
            cast(map() as map<string,string>)
        ),
        (name, item) -> not startswith(name, '{{ prefix }}')
    ),
    transform_keys(
        coalesce(from_json(record_fields['source'], 'map<string,string>'), cast(map() as map<string,string>)),
        (name, item) -> concat('{{ prefix }}source_', name)
    ),
    map(
        '{{ prefix }}op', record_fields['op'],
        '{{ prefix }}transaction_id', coalesce(
            get_json_object(record_fields['source'], '$.gtid'),
            get_json_object(record_fields['source'], '$.txId'),
            get_json_object(record_fields['transaction'], '$.id')
        ),
        '{{ prefix }}transaction_total_order', get_json_object(record_fields['transaction'], '$.total_order')
    )
)
{%- endmacro %}


{#
    JsonConverter's wrapper has these two fields and no other; some tools leave `schema` out, or send NULL. Where
    `payload` is a column of the table, such a record is its row, unless it begins as the schema of a converter does.
#}
{% macro _is_wrapped(feed, record) -%}
map_contains_key({{ record }}, 'payload') and
{%- if "payload" in alluvium._declared_columns(feed) | map(attribute="name") %} size({{ record }}) = 2
    and {{ record }}['schema'] like '{"type":"struct",%"optional":%'
{%- else %} size(array_except(map_keys({{ record }}), array('schema', 'payload'))) = 0
    and startswith(coalesce({{ record }}['schema'], '{'), '{')
    and startswith(coalesce({{ record }}['payload'], '{'), '{')
{%- endif %}
{%- endmacro %}


{#
    A bare row says neither its operation nor its position; what the feed's clauses make of it is known once it has
    types (_operations_of_rows).
#}
{% macro _recognise_row(feed) -%}
{{ alluvium._fields_of_record(feed) }},

recognised as (
    select
        {{ alluvium._carried_columns(feed) | indent(8) }},
        record_semantic_types as semantic_types,
        fields as row_image,
        {{ alluvium._record_kind(feed, "'change'") }} as record_kind,
        {%- if feed.full_dumps %}
        {{ alluvium._time_of_dump(feed) | indent(8) }} as dump_time,
        if(
            file_path rlike {{ alluvium._string_literal(feed.full_dumps.path) }}, 'last_in_data_collection', null
        ) as snapshot,
        {%- else %}
        cast(null as string) as snapshot,
        {%- endif %}
        cast(null as string) as transaction_id,
        cast(null as bigint) as transaction_order
    from rows
)
{%- endmacro %}


{% macro _is_malformed() %}
    {{ return(
        "lines is null or size(lines) <> 2 or lines[0] is null or lines[1]['line_length'] is distinct from "
        "cast(octet_length(value) as string)"
    ) }}
{% endmacro %}


{# What the line is before it is looked into; `of_record` tells the kinds of a readable record apart. #}
{% macro _record_kind(feed, of_record) -%}
    case
            when read_error is not null then 'rejected'
            when value is null then 'empty_file'
            {#- Blanks and `null` are no object either, and to trim each line takes time. #}
            when malformed then case trim(both ' \t\r\n' from value)
                when '' then 'blank'
                when 'null' then 'tombstone'
                else 'rejected'
            end
            {%- if "payload" not in alluvium._declared_columns(feed) | map(attribute="name") %}
            {#- Only a short line is looked at. #}
            when octet_length(value) < 60
                and regexp_replace(value, '[ \t\r\n]', '')
                    in ('{"payload":null}', '{"schema":null,"payload":null}', '{"payload":null,"schema":null}')
                then 'tombstone'
            {%- endif %}
            {%- if feed.store_envelope %}
            when lines[0].metadata is not null
                and lines[0].value is null
                and get_json_object(value, '$.value') is null
                then 'tombstone'
            {%- endif %}
            else {{ of_record }}
        end
{%- endmacro %}


{# What every shape of record carries on: its text, where it stands, where it was delivered. #}
{% macro _carried_columns(feed) -%}
value,
{%- if alluvium._reads_json_numbers(feed) %}
{{ alluvium._number_image(feed) }} as number_image,
{%- endif %}
read_error,
malformed,
file_path,
file_length,
file_modified_at,
file_block_start,
record_order,
{{ alluvium._delivery_columns(feed) }}
{%- endmacro %}


{#
    Where the record was delivered: the Kafka partition and offset if the store envelope has them, and what the
    object's name says (_sink_names).
#}
{% macro _delivery_columns(feed) -%}
    {%- set partition = alluvium._part_of_name(feed.layout, "partition", "int") -%}
    {%- if feed.store_envelope -%}
coalesce(lines[0].metadata.partition, {{ partition }}) as kafka_partition,
lines[0].metadata.offset as kafka_offset,
    {%- else -%}
{{ partition }} as kafka_partition,
cast(null as bigint) as kafka_offset,
    {%- endif %}
{{ alluvium._part_of_name(
    feed.layout, "last_offset" if alluvium._has_last_offsets(feed) else "offset", "bigint"
) }} as file_offset
{%- endmacro %}


{#
    Debezium sends a delete and a create where a row gets another key, so an update that changes the declared one says
    that the connector's key is another, or none: as an update under its new key it would leave the row under the old
    one, too. A document of MongoDB keeps its `_id`; where PostgreSQL sends no whole image before, columns that it
    leaves out have defaults there.
#}
{% macro _compares_keys(feed) %}
    {{ return(
        feed.key | length > 0
        and feed.shape == "envelope"
        and feed.connector != "mongodb"
        and not alluvium._lacks_full_before_images(feed)
    ) }}
{% endmacro %}
