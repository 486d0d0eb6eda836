{#
    The columns that both the rows to write and their table have, as the table spells them. A type that has changed
    since the table was made is refused: Spark would round a decimal to the table's scale, cut a time off a date, and
    say nothing.
#}
{% macro _same_columns(source, target) %}
    {%- set types = {} -%}
    {%- for column in alluvium._columns_in_relation(source) -%}
        {%- do types.update({column.name | lower: column.dtype}) -%}
    {%- endfor -%}
    {#- As they were when the model compiled, but where dbt has added one since. -#}
    {%- set known = alluvium._remembered("columns_of_table", target) or [] -%}
    {%- set names_known = known | map(attribute="name") | map("lower") | list -%}
    {%- set is_known = known and not types.keys() | reject("in", names_known) | list -%}
    {%- set columns, names = known if is_known else alluvium._columns_in_relation(target), [] -%}
    {%- do alluvium._require_types(target, columns, types) -%}
    {%- for column in columns if column.name | lower in types -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# `types` by names in lower case. #}
{% macro _require_types(table, columns, types) %}
    {%- for column in columns if alluvium._stored_type(types.get(column.name | lower, column.dtype)) != column.dtype -%}
        {% do alluvium._raise_invalid(
            "model " ~ table.identifier,
            "type of column " ~ column.name,
            types[column.name | lower],
            column.dtype ~ ", as the table has it; another one needs " ~ alluvium._rebuild_command(table),
        ) %}
    {%- endfor -%}
{% endmacro %}
