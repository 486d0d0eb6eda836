{#
    The columns of a table that rows are written to. A type that has changed since the table was made is refused: Spark
    would round a decimal to the table's scale, cut a time off a date, and say nothing.
#}
{% macro same_columns(source, target) %}
    {%- set types = {} -%}
    {%- for column in adapter.get_columns_in_relation(source) -%}
        {%- do types.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {%- set columns = adapter.get_columns_in_relation(target) -%}
    {%- for column in columns if types.get(column.name, column.dtype) != column.dtype -%}
        {% do alluvium.raise_invalid(
            "model " ~ target.identifier,
            "type of column " ~ column.name,
            types[column.name],
            column.dtype ~ ", as the table has it; another one needs `dbt build --full-refresh --select " ~ target.identifier ~ "+`",
        ) %}
    {%- endfor -%}
    {{ return(columns | map(attribute="name") | list) }}
{% endmacro %}


{% macro has_columns(relation, columns) %}
    {%- set names = adapter.get_columns_in_relation(relation) | map(attribute="name") | list -%}
    {{ return(columns | map(attribute="name") | reject("in", names) | list | length == 0) }}
{% endmacro %}
