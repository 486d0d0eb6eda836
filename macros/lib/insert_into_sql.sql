{% macro _insert_into_sql(source, target, columns, mode="into", selected=none) -%}
    insert {{ mode }} {{ target }} ({{ alluvium._column_list(columns) | join(", ") }})
    select {{ (selected or alluvium._column_list(columns)) | join(", ") }}
    from {{ source }}
{%- endmacro %}
