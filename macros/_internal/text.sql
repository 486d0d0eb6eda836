{#
    A Spark SQL string literal. Spark reads backslash escapes inside literals, so the backslash goes first. What Python takes for the end of a line is
    escaped, since Jinja's `indent` would put blanks behind it, and a line feed in its place.
#}
{% macro string_literal(text) -%}
    {%- set literal = namespace(text=text | string | replace("\\", "\\\\") | replace("'", "\\'")) -%}
    {%- for end in alluvium.line_ends(text | string) -%}
        {%- set literal.text = literal.text | replace(end, "\\u" ~ end.encode("utf-16-be").hex()) -%}
    {%- endfor -%}
    {{ return("'" ~ literal.text ~ "'") }}
{%- endmacro %}


{# The characters of a text that end a line for Python, each once. #}
{% macro line_ends(text) %}
    {{ return(modules.re.findall("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text) | unique | list) }}
{% endmacro %}


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
