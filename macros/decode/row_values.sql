{#
    The texts of the declared columns, in their order: an array, since Spark (3.5.7) looks for a field of a map from its
    beginning, for each column again. Most records have the declared columns first, in the same order, so that the
    values of the map are the array.
#}
{% macro _row_values(image, feed) -%}
{%- set names = alluvium._names_of_columns(feed) -%}
if(
    slice(map_keys({{ image }}), 1, {{ alluvium._declared_columns(feed) | length }}) = {{ names }},
    map_values({{ image }}),
    transform({{ names }}, name -> {{ image }}[name])
)
{%- endmacro %}


{# Of a wide table one literal where it can be: Spark would resolve each of a thousand. #}
{% macro _names_of_columns(feed, columns=none) %}
    {%- set names = (columns or alluvium._declared_columns(feed)) | map(attribute="name") | list -%}
    {%- if not alluvium._columns_alike(feed).sets or " " in names | join -%}
        {{ return(alluvium._literal_array(names)) }}
    {%- endif -%}
    {{ return("split(" ~ alluvium._string_literal(names | join(" ")) ~ ", ' ')") }}
{% endmacro %}


{#
    Columns that are decoded in one expression over an array, for whose statement a thousand are no more than one:
    `sets` of twenty or more that have the type and all options in common; and by name the `places` of all columns in
    the record, and of those in a set their place in it. A set is written like a column whose places are variables:
    `place` in the record, `nth` in the set.
#}
{% macro _columns_alike(feed) %}
    {%- if feed.columns_alike -%}
        {{ return(feed.columns_alike) }}
    {%- endif -%}
    {%- set by_kind, places = {}, {} -%}
    {%- for column in alluvium._declared_columns(feed) -%}
        {%- do places.update({column.name: loop.index0}) -%}
        {%- set kind = tojson([
            column.data_type, column.cdc, column in (feed.unlisted_columns or []),
            alluvium._may_be_unavailable(column, feed),
            alluvium._ops_decided_without(column.name, feed),
        ], sort_keys=true) -%}
        {%- do by_kind.setdefault(kind, []).append(column)
            if "default" not in column.cdc and "struct" not in column.data_type | lower
            and not alluvium._is_decimal_text(column, feed)
            and column.name not in feed.key + (feed.sequence_by or []) -%}
    {%- endfor -%}
    {%- set sets, members = [], {} -%}
    {%- for columns in by_kind.values() if columns | length >= 20 -%}
        {%- set number = loop.index -%}
        {%- for column in columns -%}
            {%- do members.update({column.name: {"number": number, "nth": loop.index0}}) -%}
        {%- endfor -%}
        {%- set names = columns | map(attribute="name") | list -%}
        {%- do sets.append(dict(columns[0], number=number, names=names)) -%}
    {%- endfor -%}
    {%- do feed.update({"columns_alike": {"sets": sets, "members": members, "places": places}}) -%}
    {{ return(feed.columns_alike) }}
{% endmacro %}


{# The columns that are decoded one by one, and the sets of those that are not. #}
{% macro _columns_to_decode(feed) %}
    {%- set alike = alluvium._columns_alike(feed) -%}
    {{ return(alluvium._declared_columns(feed) | rejectattr("name", "in", alike.members) | list + alike.sets) }}
{% endmacro %}


{# Those of them that the table has, too. #}
{% macro _listed_to_decode(feed) %}
    {%- set unlisted = (feed.unlisted_columns or []) | map(attribute="name") | list -%}
    {{ return(alluvium._columns_to_decode(feed) | rejectattr("name", "in", unlisted) | list) }}
{% endmacro %}


{# The array of what an expression with `place` and `nth` says of each column of a set. #}
{% macro _of_each(column, expression) %}
    {{ return("transform(places__" ~ column.number ~ ", (place, nth) -> " ~ expression ~ ")") }}
{% endmacro %}


{#
    The columns whose conditions hold, as one text; NULL where there is none, and `none` without conditions. A condition
    is a pair: a column or set, and SQL. Spark (3.5.7) compiles it, and not what is inside of a lambda, which takes
    several times as long.
#}
{% macro _columns_where(conditions) %}
    {%- set names = [] -%}
    {%- for column, condition in conditions -%}
        {%- set name = "if(" ~ condition ~ ", " ~ alluvium._name_in_record(column) ~ ", null)" -%}
        {%- do names.append(alluvium._of_each(column, name) if column.names else name) -%}
    {%- endfor -%}
    {{ return(
        "nullif(concat_ws(\n    ', ',\n    " ~ names | join(",\n    ") ~ "\n), '')" if names else none
    ) }}
{% endmacro %}


{# What an expression needs for the columns of sets: names of all columns, and the places of those in each set. #}
{% macro _places_of_sets(feed) %}
    {%- set alike, constants = alluvium._columns_alike(feed), [] -%}
    {%- for columns in alike.sets -%}
        {%- set places = [] -%}
        {%- for name in columns.names -%}
            {%- do places.append(alike.places[name]) -%}
        {%- endfor -%}
        {%- do constants.append(
            "cast(split('" ~ places | join(" ") ~ "', ' ') as array<int>) as places__" ~ columns.number
        ) -%}
    {%- endfor -%}
    {{ return([alluvium._names_of_columns(feed) ~ " as column_names"] + constants if constants else []) }}
{% endmacro %}


{# What the row image has. #}
{% macro _sent_value(column, feed, values="row_values") %}
    {%- set place = "place" if column.names else alluvium._columns_alike(feed).places[column.name] -%}
    {{ return(values ~ "[" ~ place ~ "]") }}
{% endmacro %}


{# Its value. #}
{% macro _value(column, feed) %}
    {%- set member = alluvium._columns_alike(feed).members.get(column.name) -%}
    {%- if not member -%}
        {{ return(alluvium._value_of(column.name)) }}
    {%- endif -%}
    {{ return("values__" ~ member.number ~ "[" ~ ("nth" if column.names else member.nth) ~ "]") }}
{% endmacro %}
