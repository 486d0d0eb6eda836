{#
    The typed value of one column, from its text in the JSON row image. NULL where the text does not fit the
    type: the caller tells a misfit (text there, value not) from a NULL. Nothing is rounded, truncated, shifted
    by the session's time zone, or sent through a double that was not one.
    `column` is {name, data_type, cdc}; `text` is the SQL expression of its text.
#}
{% macro _decode_value(column, feed, text) %}
    {%- set base = alluvium._base_type(column.data_type) -%}
    {%- set semantic_type = alluvium._semantic_type(column, feed) -%}
    {%- if base == "array" -%}
        {{ return(alluvium._decode_array(column, feed, text)) }}
    {%- elif base in ["struct", "map"] -%}
        {{ return(
                "from_json(" ~ text ~ ", " ~ alluvium._string_literal(column.data_type) ~ ", map('timeZone', 'UTC'))"
            ) }}
    {%- elif base == "date" -%}
        {{ return(alluvium._decode_date(column, feed, text)) }}
    {%- elif base == "timestamp_ntz" -%}
        {{ return(alluvium._decode_timestamp_ntz(column, feed, text)) }}
    {%- elif base == "timestamp" -%}
        {{ return(alluvium._decode_timestamp(column, feed, text)) }}
    {%- elif base == "binary" -%}
        {{ return(alluvium._decode_binary(column, feed, text)) }}
    {%- elif semantic_type and semantic_type.split(".")[-1] in ["Time", "MicroTime", "NanoTime"] -%}
        {{ return(alluvium._decode_time(column, feed, text)) }}
    {%- elif semantic_type == "io.debezium.data.Bits" -%}
        {{ return(alluvium._decode_bits(column, text)) }}
    {%- elif base == "string" -%}
        {{ return(text) }}
    {%- endif -%}
    {{ return("try_cast(" ~ text ~ " as " ~ column.data_type ~ ")") }}
{% endmacro %}


{% macro _decode_date(column, feed, text) -%}
    case {{ alluvium._semantic_type_sql(column, feed) }}
                when 'io.debezium.time.Date' then date_add(date '1970-01-01', try_cast({{ text }} as int))
                when 'org.apache.kafka.connect.data.Date' then date_add(date '1970-01-01', try_cast({{ text }} as int))
                when 'io.debezium.time.IsoDate'
                    then if(
                        {{ text }} rlike '^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}Z?$',
                        try_cast(rtrim('Z', {{ text }}) as date),
                        null
                    )
            end
{%- endmacro %}


{#
    Interval arithmetic on TIMESTAMP_NTZ knows no time zone; a cast from TIMESTAMP would shift by the session's.
    Nanoseconds are refused where they do not fit Spark's microseconds.
#}
{% macro _decode_timestamp_ntz(column, feed, text) -%}
    {%- set epoch = "timestamp_ntz '1970-01-01 00:00:00' + interval '0.000001' second * " -%}
    case
                {{ alluvium._infinite_timestamps(feed, text, epoch ~ "{}") }}
                when {{ alluvium._semantic_type_sql(column, feed) }} = 'io.debezium.time.IsoTimestamp'
                    then if(
                        {{ text }} rlike '{{ alluvium._iso_timestamp_pattern() }}Z?$',
                        {{ alluvium._cast_iso_timestamp("rtrim('Z', " ~ text ~ ")", "timestamp_ntz") }},
                        null
                    )
                else {{ epoch }}{{ alluvium._microseconds(column, feed, text, "Timestamp") }}
            end
{%- endmacro %}


{# A zoned timestamp has to name its zone; without one the session's would decide. #}
{% macro _decode_timestamp(column, feed, text) -%}
    case
                {{ alluvium._infinite_timestamps(feed, text, "timestamp_micros({})") }}
                when {{ alluvium._semantic_type_sql(column, feed) }} = 'io.debezium.time.ZonedTimestamp'
                    then if(
                        {{ text }} rlike '{{ alluvium._iso_timestamp_pattern() }}(Z|[+-][0-9]{2}(:?[0-9]{2}){0,2})$',
                        {{ alluvium._cast_iso_timestamp(text, "timestamp") }},
                        null
                    )
                else timestamp_micros({{ alluvium._microseconds(column, feed, text, "Timestamp") }})
            end
{%- endmacro %}


{#
    PostgreSQL's infinity is one value in every time precision mode: the number of microseconds that Debezium (3.6.3)
    sends for a column without a time zone. Others are the word, the ends of 64 bits (3.6 and later, nanoseconds and
    microseconds), and years that no source has (isostring; the era of -infinity may be lost).
#}
{% macro _infinite_timestamps(feed, text, value) -%}
    {%- set is_postgresql = feed.connector == "postgresql" -%}
    when {{ text }} in ('infinity'{{ ", '9223372036854775807'" if is_postgresql }})
                {{- " or startswith(" ~ text ~ ", '+29227899')" if is_postgresql }}
                    then {{ value.format("9223372036825200000") }}
                when {{ text }} in ('-infinity'{{ ", '-9223372036854775808'" if is_postgresql }})
                {{- " or startswith(" ~ text ~ ", '-29227505') or startswith(" ~ text ~ ", '+29227505')"
                    if is_postgresql }}
                    then {{ value.format("-9223372036832400000") }}
{%- endmacro %}


{# Spark's cast (3.5) wants seconds beside a zone; Java's OffsetDateTime leaves them out where they are zero. #}
{% macro _cast_iso_timestamp(text, data_type) %}
    {%- set with_seconds = "regexp_replace(" ~ text ~ ", '([T ][0-9]{2}:[0-9]{2})(?=Z|[+-]|$)', '$1:00')" -%}
    {{ return(
            "coalesce(try_cast(" ~ text ~ " as " ~ data_type ~ "), try_cast(" ~ with_seconds ~ " as " ~ data_type ~ "))"
        ) }}
{% endmacro %}


{# Microseconds out of milli-, micro- or nanoseconds; `kind` is Timestamp or Time. #}
{% macro _microseconds(column, feed, text, kind) -%}
    case {{ alluvium._semantic_type_sql(column, feed) }}
                    when 'io.debezium.time.{{ kind }}' then try_multiply(try_cast({{ text }} as bigint), 1000)
                    when 'org.apache.kafka.connect.data.{{ kind }}'
                        then try_multiply(try_cast({{ text }} as bigint), 1000)
                    when 'io.debezium.time.Micro{{ kind }}' then try_cast({{ text }} as bigint)
                    when 'io.debezium.time.Nano{{ kind }}'
                        then if(
                            try_cast({{ text }} as bigint) % 1000 = 0,
                            try_cast({{ text }} as bigint) div 1000,
                            null
                        )
                end
{%- endmacro %}


{#
    Spark has no TIME type: a bigint column holds microseconds since midnight, a string column the text
    [-]HH:MM:SS.ffffff (MariaDB's TIME may be negative and run to 838 hours, PostgreSQL has 24:00:00).
#}
{% macro _decode_time(column, feed, text) -%}
    {%- set microseconds = alluvium._microseconds(column, feed, text, "Time") -%}
    {%- if column.data_type == "bigint" -%}
        {{ microseconds }}
    {%- else -%}
        transform(
                array({{ microseconds }}),
                us -> if(us is null, null, format_string(
                    '%s%02d:%02d:%02d.%06d',
                    if(us < 0, '-', ''),
                    abs(us) div 3600000000,
                    abs(us) div 60000000 % 60,
                    abs(us) div 1000000 % 60,
                    abs(us) % 1000000
                ))
            )[0]
    {%- endif -%}
{%- endmacro %}


{# `binary.handling.mode` is of bytea, BLOB and the like: bit(n) is sent as bytes in each of them. #}
{% macro _decode_binary(column, feed, text) %}
    {%- set mode = feed.binary_handling_mode -%}
    {%- if mode == "hex" and column.cdc.semantic_type != "io.debezium.data.Bits" -%}
        {{ return(
            "if(semantic_types[" ~ alluvium._name_in_record(column) ~ "] <=> 'io.debezium.data.Bits', "
            ~ alluvium._base64_bytes(text)
            ~ ", try_to_binary(" ~ text ~ ", 'hex'))"
        ) }}
    {%- elif mode == "base64-url-safe" -%}
        {{ return("try_to_binary(translate(" ~ text ~ ", '-_', '+/'), 'base64')") }}
    {%- endif -%}
    {{ return(alluvium._base64_bytes(text)) }}
{% endmacro %}


{#
    bit(n) arrives as little-endian bytes, of zeros alone as none (PostgreSQL); a number of 64 bits or more does not
    fit.
#}
{% macro _decode_bits(column, text) -%}
    transform(
                filter(array({{ alluvium._base64_bytes(text) }}), bytes -> length(bytes) <= 8),
                bytes -> try_cast(nullif(greatest(aggregate(
                    slice(sequence(1, 8), 1, length(bytes)),
                    cast(0 as bigint),
                    (bits, i) -> bits
                        + shiftleft(cast(conv(hex(substring(bytes, i, 1)), 16, 10) as bigint), 8 * (i - 1))
                ), -1), -1) as {{ column.data_type }})
            )[0]
{%- endmacro %}


{# An element that does not fit becomes NULL, and _is_misfit counts those. #}
{% macro _decode_array(column, feed, text) -%}
    {%- set element = {
        "name": column.name,
        "data_type": column.data_type[6:-1],
        "cdc": {"semantic_type": column.cdc.semantic_type},
        "names": column.names,
    } -%}
    {%- set is_decimal = element.data_type.startswith("decimal") -%}
    {%- if element.data_type == "string" and (column.cdc.semantic_type or "").endswith("Decimal") -%}
        {#- decimal_text takes no elements: Spark calls no Python function in a lambda. -#}
        {% do alluvium._raise_invalid(
            "change_log: source " ~ feed.name, "data_type of column " ~ column.name, column.data_type,
            "array<decimal(precision, scale)> where the semantic type is " ~ column.cdc.semantic_type
        ) %}
    {%- endif -%}
    {%- if is_decimal and feed.decimal_format == "numeric" -%}
        {% do alluvium._require_no_json_numbers(column, feed) %}
    {%- endif -%}
    {%- set element_text = "number" if is_decimal else "element" -%}
    {%- set value = alluvium._decode_value(element, feed, element_text) -%}
    {%- set changed = alluvium._is_changed_value(element, element_text, value) -%}
    {%- set value = "if(" ~ changed ~ ", null, " ~ value ~ ")" if changed else value -%}
    {%- if is_decimal -%}
        {%- set value =
            "transform(array(" ~ alluvium._number_text(element, feed, "element") ~ "), number -> " ~ value ~ ")[0]" -%}
    {%- endif -%}
    transform(from_json({{ text }}, 'array<string>'), element -> {{ value }})
{%- endmacro %}


{# Spark 3.5's JSON reader hands these numbers on as doubles only. #}
{% macro _require_no_json_numbers(column, feed) %}
    {% do alluvium._raise_invalid(
        "change_log: source " ~ feed.name,
        "data_type of column " ~ column.name,
        column.data_type,
        "decimal(precision, scale) where decimal_format is numeric, or decimal_format base64"
    ) %}
{% endmacro %}


{#
    The text of a column as the decoder wants it: plain number text for decimals, whatever their encoding, else what
    the row image has.
#}
{% macro _column_text(column, feed) %}
    {%- set has_number = column.data_type.startswith("decimal") and alluvium._reads_json_numbers(feed) -%}
    {%- set text = alluvium._sent_value(column, feed, "number_values" if has_number else "row_values") -%}
    {{ return(alluvium._sent_text(column, feed, text)) }}
{% endmacro %}


{% macro _sent_text(column, feed, text) %}
    {%- if column.data_type.startswith("decimal") -%}
        {{ return(alluvium._number_text(column, feed, text)) }}
    {%- elif alluvium._is_decimal_text(column, feed) -%}
        {%- if feed.decimal_format == "numeric" -%}
            {% do alluvium._require_no_json_numbers(column, feed) %}
        {%- endif -%}
        {{ return(alluvium._plain_number_text(column, feed, text)) }}
    {%- endif -%}
    {{ return(text) }}
{% endmacro %}


{#
    The typed value of a column, or its declared default where the field is absent from the event: a column that was
    added later with a default, for which old rows have no event. Absent is not NULL: an explicit null stays NULL.
    A value that was not sent is NULL, and in a set one that is not what its text says, which is a misfit in any event
    that needs it (_is_misfit).
#}
{% macro _decode_column(column, feed) %}
    {%- set text = alluvium._text(column, feed) -%}
    {%- set value = alluvium._decode_value(column, feed, text) -%}
    {%- set changed = alluvium._is_another_value(column, feed, text, "value") if column.names else none -%}
    {%- if changed -%}
        {%- set value =
            "transform(array(" ~ value ~ "), value -> if(coalesce(" ~ changed ~ ", true), null, value))[0]" -%}
    {%- endif -%}
    {%- if alluvium._may_be_unavailable(column, feed) -%}
        {%- set value =
            "if(array_contains(unavailable_columns, " ~ alluvium._name_in_record(column) ~ "), null, " ~ value ~ ")" -%}
    {%- endif -%}
    {%- if "default" not in column.cdc -%}
        {{ return(value) }}
    {%- endif -%}
    {{ return(
        "if(not map_contains_key(row_image, " ~ alluvium._string_literal(column.name) ~ "), cast("
        ~ alluvium._string_literal(column.cdc.default) ~ " as " ~ column.data_type ~ "), " ~ value ~ ")"
    ) }}
{% endmacro %}


{# Its text as the decoder takes it. #}
{% macro _text(column, feed) %}
    {%- if not alluvium._has_own_text(column, feed) -%}
        {{ return(alluvium._sent_value(column, feed)) }}
    {%- endif -%}
    {{ return("texts__" ~ column.number ~ "[nth]" if column.names else alluvium._text_of(column.name)) }}
{% endmacro %}


{% macro _has_own_text(column, feed) %}
    {{ return(alluvium._column_text(column, feed) != alluvium._sent_value(column, feed)) }}
{% endmacro %}
