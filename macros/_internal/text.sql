{# A Spark SQL string literal. Spark reads backslash escapes inside literals, so the backslash goes first. #}
{% macro string_literal(text) -%}
    {{ return("'" ~ (text | string | replace("\\", "\\\\") | replace("'", "\\'")) ~ "'") }}
{%- endmacro %}


{# A Spark SQL identifier, for column names that a source may have spelt in any way. #}
{% macro quoted_identifier(name) -%}
    {{ return("`" ~ (name | string | replace("`", "``")) ~ "`") }}
{%- endmacro %}


{# Rows of a query as a list of dictionaries; an empty list where dbt only renders (may_query). #}
{% macro query_rows(sql) %}
    {%- set rows = [] -%}
    {%- if alluvium.may_query() -%}
        {%- for row in run_query(sql) -%}
            {%- do rows.append(row.dict()) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(rows) }}
{% endmacro %}


{# Literals of some texts, with commas. #}
{% macro string_literals(texts) %}
    {%- set literals = [] -%}
    {%- for text in texts -%}
        {%- do literals.append(alluvium.string_literal(text)) -%}
    {%- endfor -%}
    {{ return(literals | join(", ")) }}
{% endmacro %}


{# A Spark SQL array of strings. #}
{% macro literal_array(texts) %}
    {{ return("array(" ~ alluvium.string_literals(texts) ~ ")") }}
{% endmacro %}


{# NULL for an empty array. #}
{% macro array_or_null(values) %}
    {{ return("nullif(" ~ values ~ ", array())") }}
{% endmacro %}


{# NULL for an empty map, which Spark does not compare. #}
{% macro map_or_null(values) %}
    {{ return("get(filter(array(" ~ values ~ "), entries -> size(entries) > 0), 0)") }}
{% endmacro %}
