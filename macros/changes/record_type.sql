{#
    The from_json type of one record. Row images are maps of texts: an unknown column is seen, an absent one is
    told from a NULL, and 64-bit integers and numbers stay text until they meet their declared type. Both
    {schema, payload} and the bare payload are read, so a change of `schemas.enable` in mid-topic is no matter.
#}
{% macro record_type(feed, row_image_type) -%}
    {%- if feed.shape != "envelope" and row_image_type.startswith("map") -%}
        {%- set value = row_image_type -%}
    {%- elif feed.shape != "envelope" -%}
        {%- set fields = row_image_type[7:-1] -%}
        {%- set value = "struct<payload:" ~ row_image_type ~ ("," ~ fields if fields) ~ ">" -%}
    {%- else -%}
        {%- set envelope = alluvium.envelope_fields(feed, row_image_type) -%}
        {%- set value = "struct<schema:" ~ alluvium.envelope_schema_type() ~ ",payload:struct<" ~ envelope ~ ">," ~ envelope ~ ">" -%}
    {%- endif -%}
    {%- if feed.store_envelope -%}
        {{ return("struct<value:" ~ value ~ ",metadata:struct<topic:string,partition:int,offset:bigint,timestamp:bigint>>") }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}


{#
    The row image's decimals where they are JSON numbers (`decimal.format=NUMERIC`): as text in the map they would have
    passed through a double (Spark 3.5's JSON reader copies a number token as one), as DECIMAL fields they do not.
#}
{% macro number_fields_type(feed) %}
    {%- set fields = [] -%}
    {%- for column in alluvium.declared_columns(feed) if column.data_type.startswith("decimal") -%}
        {%- set whole_digits = alluvium.decimal_precision(column.data_type) - alluvium.decimal_scale(column.data_type) -%}
        {%- do fields.append(alluvium.quoted_identifier(column.name) ~ ":decimal(38," ~ (38 - whole_digits) ~ ")") -%}
    {%- endfor -%}
    {{ return("struct<" ~ fields | join(",") ~ ">") }}
{% endmacro %}


{# Whether there are any, which costs reading each line a second time. #}
{% macro reads_json_numbers(feed) %}
    {{ return(feed.decimal_format == "numeric" and alluvium.number_fields_type(feed) != "struct<>") }}
{% endmacro %}


{# The same for one column, out of number_lines. #}
{% macro json_number(column, feed) %}
    {%- set record = "number_lines[0].value" if feed.store_envelope else "number_lines[0]" -%}
    {%- set name = alluvium.quoted_identifier(column.name) -%}
    {%- if feed.shape != "envelope" -%}
        {{ return("coalesce(" ~ record ~ ".payload." ~ name ~ ", " ~ record ~ "." ~ name ~ ")") }}
    {%- endif -%}
    {%- set images = [] -%}
    {%- for image in ["before", "after"] -%}
        {%- do images.append("coalesce(" ~ record ~ ".payload." ~ image ~ "." ~ name ~ ", " ~ record ~ "." ~ image ~ "." ~ name ~ ")") -%}
    {%- endfor -%}
    {{ return("if(op = 'd', " ~ images | join(", ") ~ ")") }}
{% endmacro %}


{# MongoDB's images are texts of JSON. #}
{% macro envelope_fields(feed, row_image_type) %}
    {%- set image = "string" if feed.connector == "mongodb" else row_image_type -%}
    {%- set source = {"snapshot": "string", "txId": "string", "gtid": "string", "ts_ms": "bigint", "ts_us": "bigint"} -%}
    {%- do source.update(alluvium.source_fields(feed)) -%}
    {%- set source_fields = [] -%}
    {%- for field, type in source.items() -%}
        {%- do source_fields.append(field ~ ":" ~ type) -%}
    {%- endfor -%}
    {{ return(
        "before:" ~ image ~ ",after:" ~ image ~ ",op:string,ts_ms:bigint"
        ~ ",source:struct<" ~ source_fields | join(",") ~ ">"
        ~ ",transaction:struct<id:string,total_order:bigint>"
        ~ ",status:string,databaseName:string"
    ) }}
{% endmacro %}


{% macro envelope_schema_type() %}
    {{ return("struct<fields:array<struct<field:string,fields:" ~ alluvium.schema_fields_type() ~ ">>>") }}
{% endmacro %}


{% macro schema_fields_type() %}
    {{ return(
        "array<struct<field:string,name:string,parameters:struct<scale:string>"
        ~ ",items:struct<name:string,parameters:struct<scale:string>>>>"
    ) }}
{% endmacro %}


{# column -> semantic type, of an array that of its elements, out of the field list of a Connect schema. #}
{% macro semantic_types_of_fields(fields) -%}
    map_from_entries(transform(
            filter({{ fields }}, field -> coalesce(field.name, field.items.name) is not null),
            field -> struct(
                field.field,
                if(field.name is not null, concat_ws(':', field.name, field.parameters.scale), concat_ws(':', field.items.name, field.items.parameters.scale))
            )
        ))
{%- endmacro %}
