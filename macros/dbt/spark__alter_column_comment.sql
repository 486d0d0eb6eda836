{#
    dbt-spark (1.11) quotes no name, escapes no backslash, and commits the comment of each column with each build, as if
    the table had news.
#}
{% macro spark__alter_column_comment(relation, column_dict) %}
    {%- if config.get("file_format") in ["delta", "hudi", "iceberg"] -%}
        {%- set comments = {} -%}
        {%- for row in alluvium._query_rows("describe table " ~ relation) if row.col_name | lower not in comments -%}
            {%- do comments.update({row.col_name | lower: row.comment or ""}) -%}
        {%- endfor -%}
        {%- for name, column in column_dict.items() if comments.get(name | lower) != column.description -%}
            {%- do run_query(
                "alter table " ~ relation ~ " alter column " ~ alluvium._quoted_identifier(name) ~ " comment "
                ~ alluvium._string_literal(column.description)
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# Of a column in the list of a view's. #}
{% macro get_column_comment_sql(column_name, column_dict) -%}
    {%- set description = (column_dict.get(column_name) or {}).description -%}
    {{ alluvium._quoted_identifier(column_name) }}
    {{- " comment " ~ alluvium._string_literal(description) if description }}
{%- endmacro %}


{# Of a table or a view. #}
{% macro spark__comment_clause() -%}
    {{ "comment " ~ alluvium._string_literal(model.description) if config.persist_relation_docs() }}
{%- endmacro %}
