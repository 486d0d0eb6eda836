{#
    The from_json type of one record. Row images are maps of texts: an unknown column is seen, an absent one is
    told from a NULL, and 64-bit integers and numbers stay text until they meet their declared type. Both
    {schema, payload} and the bare payload are read, so a change of `schemas.enable` in mid-topic is no matter.
    `line_length` is of the object that ends the line (_is_malformed).
#}
{% macro _record_type(feed) -%}
    {%- set line_length = ",line_length:string" -%}
    {%- if feed.shape == "envelope" -%}
        {%- set envelope = alluvium._envelope_fields(feed) -%}
        {%- set value =
            "struct<schema:" ~ alluvium._envelope_schema_type() ~ ",payload:struct<" ~ envelope ~ ">," ~ envelope
            ~ (line_length if not feed.store_envelope) ~ ">" -%}
    {%- else -%}
        {%- set value = "map<string,string>" -%}
    {%- endif -%}
    {%- if feed.store_envelope -%}
        {{ return(
            "struct<value:" ~ value ~ ",metadata:struct<topic:string,partition:int,offset:bigint,timestamp:bigint>"
            ~ line_length ~ ">"
        ) }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro %}


{% macro _row_of_record(record) %}
    {{ return(
        "if(is_wrapped, from_json(" ~ record ~ "['payload'], 'map<string,string>', " ~ alluvium._json_options() ~ "), "
        ~ record ~ ")"
    ) }}
{% endmacro %}


{#
    Whether decimals are JSON numbers (`decimal.format=NUMERIC`), which costs reading each line a second time. A number
    of a MongoDB document is a double in the database, too.
#}
{% macro _reads_json_numbers(feed) %}
    {%- set decimals = [] -%}
    {%- for column in alluvium._declared_columns(feed) if column.data_type.startswith("decimal") -%}
        {%- do decimals.append(column.name) -%}
    {%- endfor -%}
    {{ return(feed.decimal_format == "numeric" and feed.connector != "mongodb" and decimals | length > 0) }}
{% endmacro %}


{#
    JSON with its numbers as texts. Spark 3.5's JSON reader copies a number with a fraction into a text through a
    double, and rounds it to the scale of a DECIMAL. A match goes on where the one before ended and skips complete
    strings, so no digit of a string is taken for a number.
#}
{% macro _numbers_as_texts(json) %}
    {%- set string = alluvium._json_string_pattern() -%}
    {%- set pattern = '\\G((?:[^"0-9-]++|-(?![0-9])|' ~ string ~ ')*+)(-?[0-9][0-9.eE+-]*+)' -%}
    {{ return("regexp_replace(" ~ json ~ ", " ~ alluvium._string_literal(pattern) ~ ", '$1\"$2\"')") }}
{% endmacro %}


{#
    JSON with the tokens `NaN`, `Infinity` and `-Infinity`, which it has no numbers for, as texts: as JsonConverter
    writes them. MongoDB's connector and json.dumps of Python write them without quotes. Few texts have one of these
    words, so that most are only searched for them.
#}
{% macro _with_quoted_constants(json) %}
    {%- set pattern = '\\G((?:[^"NI-]++|-(?!Infinity)|N(?!aN)|I(?!nfinity)|' ~ alluvium._json_string_pattern()
        ~ ')*+)(NaN|-?Infinity)' -%}
    {{ return(
        "if(contains(" ~ json ~ ", 'NaN') or contains(" ~ json ~ ", 'Infinity'), regexp_replace(" ~ json ~ ", "
        ~ alluvium._string_literal(pattern) ~ ", '$1\"$2\"'), " ~ json ~ ")"
    ) }}
{% endmacro %}


{# Possessive quantifiers neither backtrack nor recurse, however long a string is. #}
{% macro _json_string_pattern() %}
    {{ return('"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"') }}
{% endmacro %}


{# The row image with its numbers as texts, from the same place of the same record as the row image. #}
{% macro _number_image(feed) %}
    {%- set record = "number_lines[0].value" if feed.store_envelope else "number_lines[0]" -%}
    {%- if feed.reads_envelopes -%}
        {%- set row = alluvium._row_of_record(record) -%}
        {{ return(
            "if(is_envelope, from_json((" ~ row ~ ")[if(record_op = 'd', 'before', 'after')], 'map<string,string>', "
            ~ alluvium._json_options() ~ "), " ~ row ~ ")"
        ) }}
    {%- endif -%}
    {%- if feed.shape != "envelope" -%}
        {{ return(alluvium._row_of_record(record)) }}
    {%- endif -%}
    {%- set images = [] -%}
    {%- for image in ["before", "after"] -%}
        {%- do images.append("coalesce(" ~ record ~ ".payload." ~ image ~ ", " ~ record ~ "." ~ image ~ ")") -%}
    {%- endfor -%}
    {{ return("if(" ~ alluvium._takes_before_image(feed) ~ ", " ~ images | join(", ") ~ ")") }}
{% endmacro %}


{# MongoDB's images are texts of JSON. #}
{% macro _envelope_fields(feed) %}
    {%- set image = "string" if feed.connector == "mongodb" else "map<string,string>" -%}
    {%- set source =
        {"snapshot": "string", "txId": "string", "gtid": "string", "ts_ms": "bigint", "ts_us": "bigint"} -%}
    {%- do source.update(alluvium._source_fields(feed)) -%}
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


{% macro _envelope_schema_type() %}
    {{ return("struct<fields:array<struct<field:string,fields:" ~ alluvium._schema_fields_type() ~ ">>>") }}
{% endmacro %}


{% macro _schema_fields_type() %}
    {{ return(
        "array<struct<field:string,name:string,parameters:struct<scale:string>"
        ~ ",items:struct<name:string,parameters:struct<scale:string>>>>"
    ) }}
{% endmacro %}


{# column -> semantic type, of an array that of its elements, out of the field list of a Connect schema. #}
{% macro _semantic_types_of_fields(fields) -%}
    map_from_entries(transform(
            filter({{ fields }}, field -> coalesce(field.name, field.items.name) is not null),
            field -> struct(
                field.field,
                if(
                    field.name is not null,
                    concat_ws(':', field.name, field.parameters.scale),
                    concat_ws(':', field.items.name, field.items.parameters.scale)
                )
            )
        ))
{%- endmacro %}


{#
    Options of from_json (Spark 3.5.7): without the limits of Jackson's for a text (20,000,000 characters) and a number
    (1000 digits), of which the first line above one would be malformed. The depth stays at 1000: what copies a value
    has that limit, too.
#}
{% macro _json_options(disallowed=[]) %}
    {%- set options = ["'maxStringLen', '2147483647'", "'maxNumLen', '2147483647'"] -%}
    {%- for option in disallowed -%}
        {%- do options.append("'" ~ option ~ "', 'false'") -%}
    {%- endfor -%}
    {{ return("map(" ~ options | join(", ") ~ ")") }}
{% endmacro %}
