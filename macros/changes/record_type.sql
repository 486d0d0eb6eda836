{#
    The from_json type of one record. Row images are maps of texts: an unknown column is seen, an absent one is
    told from a NULL, and 64-bit integers and numbers stay text until they meet their declared type. Both
    {schema, payload} and the bare payload are read, so a change of `schemas.enable` in mid-topic is no matter.
#}
{% macro record_type(feed) -%}
    {%- if feed.shape == "flattened" -%}
        {%- set value = "map<string,string>" -%}
    {%- else -%}
        {%- set envelope = alluvium.envelope_fields(alluvium.row_image_type(feed)) -%}
        {%- set value = "struct<schema:" ~ alluvium.envelope_schema_type() ~ ",payload:struct<" ~ envelope ~ ">," ~ envelope ~ ">" -%}
    {%- endif -%}
    {%- if feed.store_envelope -%}
        {{ return("struct<value:" ~ value ~ ",metadata:struct<topic:string,partition:int,offset:bigint,timestamp:bigint>>") }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}


{% macro row_image_type(feed) %}
    {{ return("map<string,string>") }}
{% endmacro %}


{% macro envelope_fields(row_image_type) %}
    {{ return(
        "before:" ~ row_image_type ~ ",after:" ~ row_image_type ~ ",op:string,ts_ms:bigint"
        ~ ",source:struct<snapshot:string,sequence:string,lsn:bigint,txId:bigint,file:string,pos:bigint,row:bigint,gtid:string,ts_ms:bigint,ts_us:bigint>"
        ~ ",transaction:struct<id:string,total_order:bigint>"
        ~ ",status:string,id:string,ddl:string,databaseName:string"
    ) }}
{% endmacro %}


{% macro envelope_schema_type() %}
    {{ return("struct<fields:array<struct<field:string,fields:" ~ alluvium.schema_fields_type() ~ ">>>") }}
{% endmacro %}


{% macro schema_fields_type() %}
    {{ return("array<struct<field:string,name:string,parameters:struct<scale:string>>>") }}
{% endmacro %}


{# column -> semantic type, out of the field list of a Connect schema. #}
{% macro semantic_types_of_fields(fields) -%}
    map_from_entries(transform(
            filter({{ fields }}, field -> field.name is not null),
            field -> struct(field.field, concat_ws(':', field.name, field.parameters.scale))
        ))
{%- endmacro %}
