{# A Spark SQL string literal. Spark reads backslash escapes inside literals, so the backslash goes first. #}
{% macro string_literal(text) -%}
    {{ return("'" ~ (text | string | replace("\\", "\\\\") | replace("'", "\\'")) ~ "'") }}
{%- endmacro %}


{# A Spark SQL identifier, for column names that a source may have spelt in any way. #}
{% macro quoted_identifier(name) -%}
    {{ return("`" ~ (name | string | replace("`", "``")) ~ "`") }}
{%- endmacro %}


{# Rows of a query as a list of dictionaries; an empty list while dbt only parses. #}
{% macro query_rows(sql) %}
    {%- set rows = [] -%}
    {%- if execute -%}
        {%- for row in run_query(sql) -%}
            {%- do rows.append(row.dict()) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(rows) }}
{% endmacro %}
