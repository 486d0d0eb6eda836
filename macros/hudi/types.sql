{# Hudi keeps a table's schema in Avro, and creates no table with a time of no zone in a Hive metastore (1.2.0). #}
{% macro _require_columns_of_hudi(subject, columns, key=[]) %}
    {%- for column in columns -%}
        {%- if not column.name.isidentifier() -%}
            {% do alluvium._raise_invalid(
                subject, "name of a column", column.name,
                "a name of letters, digits and underscores that does not begin with a digit, where file_format is hudi",
            ) %}
        {%- elif (column.name | lower).startswith("_hoodie_") -%}
            {#- A row with `_hoodie_is_deleted` is deleted, without a word (1.2.0). -#}
            {% do alluvium._raise_invalid(
                subject, "name of a column", column.name,
                "a name that does not begin with `_hoodie_`, which are Hudi's own"
            ) %}
        {%- elif not alluvium._is_type_of_hudi(column.data_type) -%}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ column.name, column.data_type,
                "a type without void, intervals, maps of other keys than string, and fields whose names have other "
                "characters than ASCII letters, digits and underscores, where file_format is hudi",
            ) %}
        {%- elif column.name in key and modules.re.match("array|struct|map", column.data_type) -%}
            {#-
                Hudi's record key is a text (_keyed_rows), and Spark's of `[x, y]` is one for one element and for two:
                rows of two keys would be one.
            -#}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ column.name, column.data_type,
                "a type without elements or fields in a key, where file_format is hudi; Delta has such keys "
                "(`file_format: delta`)",
            ) %}
        {%- elif "timestamp_ntz" in column.data_type and (column.data_type != "timestamp_ntz" or column.name in key) -%}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ column.name, column.data_type,
                "timestamp or string in place of timestamp_ntz in a key or inside of another type, where file_format "
                "is hudi",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# What Avro has, and what Hudi (1.2.0) writes into a Hive metastore. A declared type may have blanks and capitals. #}
{% macro _is_type_of_hudi(data_type) %}
    {%- set data_type = modules.re.sub("\\s*([<>,:])\\s*", "\\1", data_type | trim) -%}
    {%- if modules.re.search("(?i)map<(?!string,)|(?:^|[<,:])(?:void|interval[^<>,:]*)(?:$|[>,])", data_type) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- for name in
        modules.re.findall("[<,]([^<>,:]+):", data_type) if not modules.re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{#
    The type that a table has for one of its model: Hudi keeps the two small integers as INT, and a time without a zone
    is the time in UTC that has the same digits.
#}
{% macro _stored_type(data_type) %}
    {%- if not alluvium._is_hudi() -%}
        {{ return(data_type) }}
    {%- endif -%}
    {{ return(
        "timestamp" if data_type == "timestamp_ntz" else modules.re.sub("\\b(tinyint|smallint)\\b", "int", data_type)
    ) }}
{% endmacro %}


{# A time not with a cast, which asks for the session's time zone. #}
{% macro _stored_value(value, data_type) %}
    {%- set stored_type = alluvium._stored_type(data_type) -%}
    {%- if stored_type == data_type -%}
        {{ return(value) }}
    {%- elif data_type == "timestamp_ntz" -%}
        {{ return("timestamp_micros(" ~ alluvium._whole_number({"data_type": data_type}, value) ~ ")") }}
    {%- endif -%}
    {{ return("cast(" ~ value ~ " as " ~ stored_type ~ ")") }}
{% endmacro %}


{# Columns of the model in the types of its table. #}
{% macro _stored_columns(columns) %}
    {%- set stored = [] -%}
    {%- for column in columns -%}
        {%- set name = alluvium._quoted_identifier(column.name) -%}
        {%- set value = alluvium._stored_value(name, column.dtype) -%}
        {%- do stored.append(value if value == name else value ~ " as " ~ name) -%}
    {%- endfor -%}
    {{ return(stored) }}
{% endmacro %}


{# The column of a state as its feed declares it. #}
{% macro _declared_value(column, table) %}
    {%- set name = alluvium._quoted_identifier(column.name) -%}
    {%- if not modules.re.search("\\b(tinyint|smallint|timestamp_ntz)\\b", column.data_type)
        or alluvium._format_of_table(table) != "hudi" -%}
        {{ return(name) }}
    {%- elif column.data_type == "timestamp_ntz" -%}
        {{ return(
            "timestamp_ntz '1970-01-01 00:00:00' + interval '0.000001' second * unix_micros(" ~ name ~ ") as " ~ name
        ) }}
    {%- endif -%}
    {{ return("cast(" ~ name ~ " as " ~ column.data_type ~ ") as " ~ name) }}
{% endmacro %}


{#
    As the catalog has it: a view may be built alone, after its table's model has got another format. That of the model
    for one that is not there, or that this run has made.
#}
{% macro _format_of_table(table) %}
    {%- set built = load_relation(table) if alluvium._may_query() else none -%}
    {%- if built and built.is_hudi is not none -%}
        {{ return("hudi" if built.is_hudi else "delta") }}
    {%- endif -%}
    {%- set node = alluvium._node_of_relation(table) -%}
    {{ return(node.config.file_format if node else "delta") }}
{% endmacro %}
