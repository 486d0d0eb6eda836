{#
    How the columns of a record differ from the declared ones, which is all that a stream says of a change of its table:
    PostgreSQL has no event for one. Arrays of names, NULL where nothing differs. Unknown are fields that nobody has
    declared, also those inside of a column (`contact.phone`), which from_json would leave out.
#}
{% macro _unknown_columns(feed) -%}
    {%- set known = alluvium._names_of_columns(feed) -%}
    {%- set fields = "map_keys(row_image)" -%}
    {%- if feed.shape == "flattened" -%}
        {%- set fields = "filter(map_keys(row_image), name -> not startswith(name, "
            ~ alluvium._string_literal(feed.add_fields_prefix) ~ "))" -%}
    {%- endif -%}
    {%- set unknown = ["array_except(" ~ fields ~ ", " ~ known ~ ")"] -%}
    {%- if feed.shape != "flattened" -%}
        {%- set unknown = [alluvium._unless_equal(fields, known, unknown[0])] -%}
    {%- endif -%}
    {%- for column in alluvium._declared_columns(feed) -%}
        {%- set inside = alluvium._unknown_fields(
            column.data_type, "row_image[" ~ alluvium._string_literal(column.name) ~ "]", column.name
        ) -%}
        {%- do unknown.append(inside) if inside -%}
    {%- endfor -%}
    {%- set unknown = "array_distinct(concat(" ~ unknown | join(", ") ~ "))" if unknown | length > 1 else unknown[0] -%}
    if({{ alluvium._kind_of_record(feed) }} = 'change', {{ alluvium._array_or_null(unknown) }}, null)
{%- endmacro %}


{# Array of the paths of fields that a nested type does not have; none for a type without a struct. #}
{% macro _unknown_fields(data_type, text, path) %}
    {%- set base = alluvium._base_type(data_type) -%}
    {%- if "struct" not in data_type | lower -%}
        {{ return(none) }}
    {%- elif base != "struct" -%}
        {%- set parts = "from_json(" ~ text ~ ", 'array<string>')" if base == "array"
            else "map_values(from_json(" ~ text ~ ", 'map<string,string>'))" -%}
        {{ return(
            "coalesce(flatten(transform(" ~ parts ~ ", part -> "
            ~ alluvium._unknown_fields(alluvium._type_inside(data_type), "part", path) ~ ")), array())"
        ) }}
    {%- endif -%}
    {%- set fields = alluvium._struct_fields(data_type) -%}
    {%- set unknown = [
        "transform(array_except(map_keys(from_json(" ~ text ~ ", 'map<string,string>')), "
        ~ alluvium._literal_array(fields | map(attribute="name"))
        ~ "), name -> concat(" ~ alluvium._string_literal(path ~ ".") ~ ", name))"
    ] -%}
    {%- for field in fields if "struct" in field.data_type | lower -%}
        {%- do unknown.append(alluvium._unknown_fields(
            field.data_type,
            "from_json(" ~ text ~ ", 'map<string,string>')[" ~ alluvium._string_literal(field.name) ~ "]",
            path ~ "." ~ field.name
        )) -%}
    {%- endfor -%}
    {{ return(
        "coalesce(" ~ (unknown[0] if unknown | length == 1 else "concat(" ~ unknown | join(", ") ~ ")") ~ ", array())"
    ) }}
{% endmacro %}


{#
    Absent are declared columns that the record does not have: a relational table that had them at that time would have
    sent them. A document may lack any field, so may a bare row whose writer leaves NULLs out, and a delete has what its
    key has.
#}
{% macro _absent_columns(feed) -%}
    {%- if feed.shape == "row" or feed.connector == "mongodb" -%}
        cast(null as array<string>)
    {%- else -%}
        {%- set names = alluvium._names_of_columns(feed, feed.columns) -%}
        if(
            kind = 'change' and op <> 'd',
            {{ alluvium._array_or_null(alluvium._unless_equal(
                "map_keys(row_image)", names, "array_except(" ~ names ~ ", map_keys(row_image))"
            )) }},
            null
        )
    {%- endif -%}
{%- endmacro %}


{# What a row's operation is, is not known before its columns have their types (_operations_of_rows). #}
{% macro _kind_of_record(feed) %}
    {{ return("record_kind" if feed.shape == "row" else "kind") }}
{% endmacro %}


{# What is asked of two arrays that are most often equal, which Spark (3.5.7) sees ten times faster. #}
{% macro _unless_equal(found, expected, difference) %}
    {{ return("if(" ~ found ~ " = " ~ expected ~ ", array(), " ~ difference ~ ")") }}
{% endmacro %}
