{#
    A Spark SQL string literal. Spark reads backslash escapes inside literals, so the backslash goes first. What Python
    takes for the end of a line is escaped, since Jinja's `indent` would put blanks behind it, and a line feed in its
    place.
#}
{% macro _string_literal(text) -%}
    {%- set literal = namespace(text=text | string | replace("\\", "\\\\") | replace("'", "\\'")) -%}
    {%- for end in alluvium._line_ends(text | string) -%}
        {%- set literal.text = literal.text | replace(end, "\\u" ~ end.encode("utf-16-be").hex()) -%}
    {%- endfor -%}
    {{ return("'" ~ literal.text ~ "'") }}
{%- endmacro %}


{# The characters of a text that end a line for Python, each once. #}
{% macro _line_ends(text) %}
    {{ return(modules.re.findall("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text) | unique | list) }}
{% endmacro %}


{# A Spark SQL identifier, for column names that a source may have spelt in any way. #}
{% macro _quoted_identifier(name) -%}
    {{ return("`" ~ (name | string | replace("`", "``")) ~ "`") }}
{%- endmacro %}


{# Literals of some texts, with commas. #}
{% macro _string_literals(texts) %}
    {%- set literals = [] -%}
    {%- for text in texts -%}
        {%- do literals.append(alluvium._string_literal(text)) -%}
    {%- endfor -%}
    {{ return(literals | join(", ")) }}
{% endmacro %}


{# A Spark SQL array of strings. #}
{% macro _literal_array(texts) %}
    {{ return("array(" ~ alluvium._string_literals(texts) ~ ")") }}
{% endmacro %}


{# NULL for an empty array. #}
{% macro _array_or_null(values) %}
    {{ return("nullif(" ~ values ~ ", array())") }}
{% endmacro %}


{# NULL for an empty map, which Spark does not compare. #}
{% macro _map_or_null(values) %}
    {{ return("get(filter(array(" ~ values ~ "), entries -> size(entries) > 0), 0)") }}
{% endmacro %}


{# Array of the names whose condition holds. #}
{% macro _names_where(conditions) -%}
    filter(
        array(
            {%- for name, condition in conditions.items() %}
            if({{ condition }}, {{ alluvium._string_literal(name) }}, null),
            {%- endfor %}
            cast(null as string)
        ),
        name -> name is not null
    )
{%- endmacro %}


{% macro _literal_or_null(text) %}
    {{ return("cast(null as string)" if text is none else alluvium._string_literal(text)) }}
{% endmacro %}
