{#
    Rows with the one column that is Hudi's record key. Not the columns of the key: Hudi makes a text of them that is
    the same for other values (`a:1,b:2`; every BINARY of one length; NULL and `__null__`), and two rows would be one.
#}
{% macro _keyed_rows(sql, feed, key) -%}
{%- if not alluvium._is_hudi() -%}
    {{ return(sql) }}
{%- endif -%}
{%- do alluvium._require_columns_of_hudi("model " ~ model.name, feed.columns, feed.key) -%}
{%- do alluvium._require_hudi("model " ~ model.name) -%}
{%- set parts = [] -%}
{%- for name in key -%}
    {%- set data_type = alluvium._column_of(feed, name).data_type if name in feed.key else "string" -%}
    {%- do parts.append(alluvium._text_of_key(alluvium._quoted_identifier(name), data_type)) -%}
{%- endfor -%}
select
    *,
    to_json(array({{ parts | join(", ") }})) as _cdc_record_key
from (
    {{ sql | indent(4) }}
) as keyed
{%- endmacro %}


{# -0.0 and 0.0 are one key to Spark, and the text of a time is another one in each time zone. #}
{% macro _text_of_key(column, data_type) %}
    {%- if data_type == "binary" -%}
        {{ return("hex(" ~ column ~ ")") }}
    {%- elif data_type in ["float", "double"] -%}
        {{ return("cast(" ~ column ~ " + 0 as string)") }}
    {%- elif data_type == "timestamp" -%}
        {{ return("cast(unix_micros(" ~ column ~ ") as string)") }}
    {%- endif -%}
    {{ return(column if data_type == "string" else "cast(" ~ column ~ " as string)") }}
{% endmacro %}
