{#
    The semantic type of a column where the event itself does not say it: Debezium's and Kafka Connect's own
    schema names, as `connect.name` in Avro and `schema.name` in JSON carry them. A name ends with `:<scale>`
    for Connect's Decimal. `decimal` is plain number text. none: the JSON value is the value.
#}
{% macro _semantic_type(column, feed) %}
    {%- if column.cdc.semantic_type -%}
        {{ return(alluvium._declared_semantic_type(column, feed)) }}
    {%- endif -%}
    {%- set base = alluvium._base_type(column.data_type) -%}
    {%- set mode = feed.time_precision_mode -%}
    {%- if base == "date" -%}
        {{ return(
            {
                "connect": "org.apache.kafka.connect.data.Date", "isostring": "io.debezium.time.IsoDate"
            }.get(mode, "io.debezium.time.Date")
        ) }}
    {%- elif base == "timestamp_ntz" -%}
        {{ return({
            "connect": "org.apache.kafka.connect.data.Timestamp",
            "isostring": "io.debezium.time.IsoTimestamp",
            "nanoseconds": "io.debezium.time.NanoTimestamp",
        }.get(mode, "io.debezium.time.MicroTimestamp")) }}
    {%- elif base == "timestamp" -%}
        {#- Numbers of milliseconds where the source's JSON has no zoned text. -#}
        {{ return({
            "mongodb": "io.debezium.time.Timestamp",
            "jdbc": "org.apache.kafka.connect.data.Timestamp",
        }.get(feed.connector, "io.debezium.time.ZonedTimestamp")) }}
    {%- elif base == "decimal" -%}
        {{ return(alluvium._decimal_semantic_type(column, feed)) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{% macro _decimal_semantic_type(column, feed) %}
    {#- bigint.unsigned.handling.mode=precise means Connect's Decimal, whatever decimal.handling.mode says. -#}
    {%- if feed.decimal_format == "numeric" or (feed.decimal_handling_mode != "precise" and not column.cdc.unsigned) -%}
        {{ return("decimal") }}
    {%- endif -%}
    {{ return("org.apache.kafka.connect.data.Decimal:" ~ alluvium._decimal_scale(column.data_type)) }}
{% endmacro %}


{# A text column has no scale: what only a record's schema says is not known where there is none. #}
{% macro _declared_semantic_type(column, feed) %}
    {%- set declared = column.cdc.semantic_type -%}
    {%- if declared == "org.apache.kafka.connect.data.Decimal" and column.data_type.startswith("decimal") -%}
        {{ return(declared ~ ":" ~ alluvium._decimal_scale(column.data_type)) }}
    {%- endif -%}
    {{ return(declared) }}
{% endmacro %}


{% macro _semantic_types() %}
    {{ return(alluvium._semantic_types_by_kind().values() | sum(start=[])) }}
{% endmacro %}


{% macro _semantic_types_by_kind() %}
    {{ return({
        "date": ["io.debezium.time.Date", "io.debezium.time.IsoDate", "org.apache.kafka.connect.data.Date"],
        "timestamp": [
            "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp", "io.debezium.time.NanoTimestamp",
            "io.debezium.time.IsoTimestamp", "io.debezium.time.ZonedTimestamp",
            "org.apache.kafka.connect.data.Timestamp",
        ],
        "time": [
            "io.debezium.time.Time", "io.debezium.time.MicroTime", "io.debezium.time.NanoTime",
            "io.debezium.time.IsoTime", "io.debezium.time.ZonedTime", "org.apache.kafka.connect.data.Time",
        ],
        "decimal": ["org.apache.kafka.connect.data.Decimal", "io.debezium.data.VariableScaleDecimal", "decimal"],
        "bits": ["io.debezium.data.Bits"],
    }) }}
{% endmacro %}


{#
    Those that a column of a type may declare: with another one not a single value of a date or timestamp would be
    decoded.
#}
{% macro _semantic_types_for(data_type) %}
    {%- set kind = alluvium._base_type(data_type) | replace("_ntz", "") -%}
    {{ return(alluvium._semantic_types_by_kind().get(kind, alluvium._semantic_types())) }}
{% endmacro %}


{% macro _decimal_precision(data_type) %}
    {{ return((modules.re.search("\\((\\d+)", data_type) or modules.re.search("()", "")).group(1) | int(10)) }}
{% endmacro %}


{% macro _decimal_scale(data_type) %}
    {%- set found = modules.re.search(",(\\d+)\\)", data_type) -%}
    {{ return(found.group(1) | int if found else 0) }}
{% endmacro %}


{# The semantic type that this record's schema names, else the feed's. #}
{% macro _semantic_type_sql(column, feed) -%}
    coalesce(semantic_types[{{ alluvium._name_in_record(column) }}], {{
        alluvium._string_literal(alluvium._semantic_type(column, feed))
    }})
{%- endmacro %}


{% macro _name_in_record(column) %}
    {{ return("column_names[place]" if column.names else alluvium._string_literal(column.name)) }}
{% endmacro %}
