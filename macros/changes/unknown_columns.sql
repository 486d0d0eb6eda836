{#
    How the columns of a record differ from the declared ones, which is all that a stream says of a change of its table: PostgreSQL has no
    event for one. Arrays of names, NULL where nothing differs.
    Unknown are fields that nobody has declared.
#}
{% macro unknown_columns(feed) -%}
    {%- set known = alluvium.literal_array(alluvium.declared_columns(feed) | map(attribute="name")) -%}
    {%- set fields = "map_keys(row_image)" -%}
    {%- if feed.shape == "flattened" -%}
        {%- set fields = "filter(map_keys(row_image), name -> not startswith(name, " ~ alluvium.string_literal(feed.add_fields_prefix) ~ "))" -%}
    {%- endif -%}
    if({{ alluvium.kind_of_record(feed) }} = 'change', {{ alluvium.array_or_null("array_except(" ~ fields ~ ", " ~ known ~ ")") }}, null)
{%- endmacro %}


{#
    Absent are declared columns that the record does not have: a relational table that had them at that time would have
    sent them. A document may lack any field, so may a bare row whose writer leaves NULLs out, and a delete has what its key has.
#}
{% macro absent_columns(feed) -%}
    {%- if feed.shape == "row" or feed.connector == "mongodb" -%}
        cast(null as array<string>)
    {%- else -%}
        {%- set names = alluvium.literal_array(feed.columns | map(attribute="name")) -%}
        if(kind = 'change' and op <> 'd', {{ alluvium.array_or_null("array_except(" ~ names ~ ", map_keys(row_image))") }}, null)
    {%- endif -%}
{%- endmacro %}


{# What a row's operation is, is not known before its columns have their types (operations_of_rows). #}
{% macro kind_of_record(feed) %}
    {{ return("record_kind" if feed.shape == "row" else "kind") }}
{% endmacro %}
