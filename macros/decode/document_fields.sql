{#
    Fields of a document as texts. A value that JSON has no type for is wrapped in an object of one field
    (`{"$oid": "..."}`), in version 1 of Extended JSON otherwise than in version 2; both are unwrapped, deeper ones stay
    as they are.
#}
{% macro _document_fields(document) -%}
    {%- set paths = [
        "$.$oid", "$.$numberLong", "$.$numberInt", "$.$numberDouble", "$.$numberDecimal",
        "$.$date.$numberLong", "$.$date", "$.$binary.base64", "$.$binary",
    ] -%}
    {%- set unwrapped = [] -%}
    {%- for path in paths -%}
        {%- do unwrapped.append("get_json_object(field, '" ~ path ~ "')") -%}
    {%- endfor -%}
    transform_values(
            from_json(
                transform(array({{ document }}), json -> {{ alluvium._with_quoted_constants("json") }})[0],
                'map<string,string>',
                {{ alluvium._json_options() }}
            ),
            (name, field) -> if(startswith(field, '{"$'), coalesce({{ unwrapped | join(", ") }}, field), field)
        )
{%- endmacro %}


{#
    The row image of an envelope. MongoDB's are whole documents as texts of Extended JSON; a delete without a pre-image
    names its document in the record's key alone, which only the store envelope keeps.
#}
{% macro _row_image_of_envelope(feed) -%}
    {%- if feed.connector != "mongodb" -%}
        if(record_op = 'd', record_before, record_after)
    {%- elif feed.store_envelope -%}
        coalesce(
            {{ alluvium._document_fields("if(record_op = 'd', record_before, record_after)") | indent(4) }},
            {{ alluvium._document_fields(
                    "if(record_op = 'd', concat('{\"_id\":', " ~ alluvium._document_key() ~ ", '}'), null)"
                )
                | indent(4) }}
        )
    {%- else -%}
        {{ alluvium._document_fields("if(record_op = 'd', record_before, record_after)") }}
    {%- endif -%}
{%- endmacro %}


{# The key's `id` is a text of JSON, too. #}
{% macro _document_key() %}
    {{ return("coalesce(get_json_object(value, '$.key.payload.id'), get_json_object(value, '$.key.id'))") }}
{% endmacro %}
