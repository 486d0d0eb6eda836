{#
    Spark (3.5.7) shows `*********(redacted)` in place of the value of a setting or a table's property whose name or
    value has one of these in it, by default of spark.sql.redaction.options.regex and spark.redaction.regex: the table
    `hourly` would not know how far it is. Such names and values are in hexadecimal digits there, and so are those with
    a sign that ends a statement or a literal.
#}
{% macro _shown_text(text) %}
    {%- set is_hidden =
        modules.re.search("(?i)url|secret|password|token|access[.]?key|[;'\\\\]", text | string) is not none -%}
    {{ return(
        "0x" ~ (text | string).encode("utf-8").hex() if is_hidden or (text | string).startswith("0x") else text | string
    ) }}
{% endmacro %}


{# What `_shown_text` was given. #}
{% macro _text_of_shown(caller_name, name, shown) %}
    {%- do alluvium._require_shown(caller_name, name, shown) -%}
    {{ return(
        "".encode("utf-8").fromhex(shown[2:]).decode("utf-8") if shown is string and shown.startswith("0x") else shown
    ) }}
{% endmacro %}


{% macro _is_hidden(shown) %}
    {{ return(shown == "*********(redacted)") }}
{% endmacro %}


{% macro _require_shown(caller_name, name, shown) %}
    {%- if alluvium._is_hidden(shown) -%}
        {{ exceptions.raise_compiler_error(
            caller_name ~ ": Spark hides the value of " ~ name
            ~ ": spark.redaction.regex or spark.sql.redaction.options.regex of the session fits its name or "
            ~ "its value. Drop a table that an older version has built, and build it again; otherwise let them fit less"
        ) }}
    {%- endif -%}
{% endmacro %}
