{#
    A decimal as number text (`-1234E-2`), which Spark casts exactly. Debezium sends decimals as the unscaled
    big-endian bytes in base64 with the scale in the schema (Connect's Decimal), as {scale, value}
    (VariableScaleDecimal), or as text; MySQL's BIGINT UNSIGNED as a wrapped 64-bit number.
#}
{% macro _number_text(column, feed, text) -%}
    {%- if column.cdc.unsigned and feed.bigint_unsigned_handling_mode == "long" -%}
        if(
            {{ text }} like '-%',
            cast(try_cast({{ text }} as decimal(20, 0)) + 18446744073709551616 as string),
            {{ text }}
        )
    {%- elif feed.decimal_format == "numeric" -%}
        {{ text }}
    {%- else -%}
        {%- set type = alluvium._semantic_type_sql(column, feed) -%}
        case
                when {{ type }} = 'decimal' then {{ text }}
                when {{ type }} like 'org.apache.kafka.connect.data.Decimal:%'
                    then concat({{ alluvium._unscaled_value(text) }}, 'E-', split_part({{ type }}, ':', 2))
                when {{ type }} = 'io.debezium.data.VariableScaleDecimal' and startswith({{ text }}, '{')
                    then concat(
                        {{ alluvium._unscaled_value("get_json_object(" ~ text ~ ", '$.value')") }},
                        'E',
                        -cast(get_json_object({{ text }}, '$.scale') as int)
                    )
                when {{ type }} = 'io.debezium.data.VariableScaleDecimal' then {{ text }}
            end
    {%- endif -%}
{%- endmacro %}


{# Whole base64 only: Spark's own decoder takes `12` and makes a byte of it, and a number would decode to another. #}
{% macro _base64_bytes(text) %}
    {{ return(
        "if(length(" ~ text ~ ") % 4 = 0 and " ~ text ~ " rlike '^[A-Za-z0-9+/]*={0,2}$', try_to_binary(" ~ text
        ~ ", 'base64'), null)"
    ) }}
{% endmacro %}


{#
    Decoded by decimal_text, if need be. Spark (3.5.7) calls no Python function in a lambda: not in a set or an array.
#}
{% macro _is_decimal_text(column, feed) %}
    {{ return(column.data_type == "string" and "ecimal" in (alluvium._semantic_type(column, feed) or "")) }}
{% endmacro %}


{#
    A decimal as plain text without an exponent, of any precision: for a string column that keeps more digits than
    DECIMAL(38). decimal_text is this project's function (spark_udfs). NULL, so a misfit, where nothing says the scale
    of a Connect Decimal.
#}
{% macro _plain_number_text(column, feed, text) -%}
    {%- set type = alluvium._semantic_type_sql(column, feed) -%}
    case
                when {{ type }} = 'io.debezium.data.VariableScaleDecimal' and startswith({{ text }}, '{')
                    then decimal_text(
                        get_json_object({{ text }}, '$.value'), cast(get_json_object({{ text }}, '$.scale') as int)
                    )
                when {{ type }} like 'org.apache.kafka.connect.data.Decimal%'
                    then decimal_text({{ text }}, try_cast(split_part({{ type }}, ':', 2) as int))
                else {{ text }}
            end
{%- endmacro %}


{#
    Two's complement bytes in base64 -> decimal text of up to 38 digits, through two exact 64-bit halves; NULL for
    more than 16 bytes and for text that is not base64. The upper half of a negative number is taken one higher, so
    that no step leaves DECIMAL(38, 0) where the result does not.
#}
{% macro _unscaled_value(text) -%}
    transform(
                        array(hex({{ alluvium._base64_bytes(text) }})),
                        digits -> transform(
                            array(
                                if(length(digits) between 2 and 32, lpad(digits, 32, if(digits >= '8', 'F', '0')), null)
                            ),
                            wide -> cast(
                                (cast(conv(left(wide, 16), 16, -10) as decimal(20, 0)) + if(wide >= '8', 1, 0))
                                    * 18446744073709551616
                                + cast(conv(right(wide, 16), 16, 10) as decimal(20, 0))
                                - if(wide >= '8', 18446744073709551616, 0)
                                as string
                            )
                        )[0]
                    )[0]
{%- endmacro %}


{#
    True where a decimal's text has more fraction digits than its column keeps; the cast alone would round in silence.
    Counted in the text (`1.50`, `-1234E-2`): a wider decimal to compare with is not to be had where the column has all
    38 digits.
#}
{% macro _is_rounded(column, text) -%}
    {%- set mantissa = "split_part(upper(" ~ text ~ "), 'E', 1)" -%}
    {%- set exponent = "coalesce(try_cast(nullif(split_part(upper(" ~ text ~ "), 'E', 2), '') as int), 0)" -%}
    rtrim('0', replace({{ mantissa }}, '.')) rlike '[1-9]'
            and length(split_part({{ mantissa }}, '.', 2)) - {{ exponent }}
            - length(replace({{ mantissa }}, '.')) + length(rtrim('0', replace({{ mantissa }}, '.')))
            > {{ alluvium._decimal_scale(column.data_type) }}
{%- endmacro %}
