{# The columns of the record, those among them that its table leaves out. #}
{% macro _declared_columns(feed) %}
    {{ return(feed.columns + (feed.unlisted_columns or [])) }}
{% endmacro %}


{#
    None where dbt only renders (_may_query). For whom their types matter: of a struct Spark shows 25 fields by default,
    and two that differ behind those read alike (3.5).
#}
{% macro _columns_in_relation(relation) %}
    {%- set columns = adapter.get_columns_in_relation(relation) if alluvium._may_query() else [] -%}
    {%- for column in columns if modules.re.search("\\.\\.\\. \\d+ more fields", column.dtype) -%}
        {% do alluvium._raise_invalid(
            "model " ~ model.name, "type of column " ~ column.name, column.dtype,
            "a type that Spark shows whole; the session needs spark.sql.debug.maxToStringFields above the number of "
            "its fields (`server_side_parameters` of the profile, 1000 in Alluvium's)",
        ) %}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{#
    Spark has `_metadata` in every table of files. dbt-spark (1.11) leaves Hudi's five out of the columns of each table,
    whatever its format is: they would be NULL from the second build on.
#}
{% macro _is_own_column(name) %}
    {{ return((name | lower).startswith("_cdc_") or name | lower in [
        "_is_deleted", "_deleted_at", "_valid_from", "_valid_to", "_is_current", "_metadata",
        "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path",
        "_hoodie_file_name"
    ]) }}
{% endmacro %}


{# The condition that two rows have one key. #}
{% macro _same_key(feed, one, other) %}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- set column = alluvium._quoted_identifier(name) -%}
        {%- do conditions.append(
                one ~ "." ~ column ~ " " ~ alluvium._key_equality(feed, name) ~ " " ~ other ~ "." ~ column
            ) -%}
    {%- endfor -%}
    {{ return(conditions | join(" and ")) }}
{% endmacro %}


{% macro _key_equality(feed, name) %}
    {{ return("<=>" if alluvium._column_of(feed, name).cdc.nullable else "=") }}
{% endmacro %}


{% macro _column_of(feed, name) %}
    {{ return(alluvium._declared_columns(feed) | selectattr("name", "equalto", name) | first) }}
{% endmacro %}


{% macro _names_outside_key(feed) %}
    {{ return(feed.columns | map(attribute="name") | reject("in", feed.key) | list) }}
{% endmacro %}


{# A type without its parameters: `decimal` of `decimal(12,2)`, `array` of `array<int>`. #}
{% macro _base_type(data_type) %}
    {{ return(data_type.split("(")[0].split("<")[0]) }}
{% endmacro %}


{# Of an array its elements' type, of a map its values'. #}
{% macro _type_inside(data_type) %}
    {{ return(alluvium._parts_of_type(data_type) | last | trim) }}
{% endmacro %}


{#
    The fields of a struct, {name, data_type} each, from its type as Spark's DDL writes it: `name: type` or `name type`.
#}
{% macro _struct_fields(data_type) %}
    {%- set fields = [] -%}
    {%- for text in alluvium._parts_of_type(data_type) -%}
        {%- set found = modules.re.fullmatch(
            "\\s*(`(?:[^`]|``)+`|\\w+)(?:\\s*:\\s*|\\s+)(.+?)(?:\\s+not\\s+null)?\\s*", text, modules.re.IGNORECASE
        ) -%}
        {%- if not found -%}
            {% do alluvium._raise_invalid(
                    "struct_fields", "data_type", data_type, "struct<name: type, ...> without comments"
                ) %}
        {%- endif -%}
        {%- set name = found.group(1) -%}
        {%- do fields.append({
            "name": name[1:-1] | replace("``", "`") if name[0] == "`" else name,
            "data_type": alluvium._normal_type("struct_fields", found.group(2)),
        }) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# What stands between the outer brackets, cut at the commas that are not inside of a field's type or name. #}
{% macro _parts_of_type(data_type) %}
    {%- set parts, part = [], namespace(text="", depth=0, is_quoted=false) -%}
    {%- for character in data_type.partition("<")[2].rpartition(">")[0] ~ "," -%}
        {%- set part.is_quoted = part.is_quoted != (character == "`") -%}
        {%- set part.depth =
            part.depth + {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0) * (not part.is_quoted) -%}
        {%- if character != "," or part.depth or part.is_quoted -%}
            {%- set part.text = part.text ~ character -%}
        {%- else -%}
            {%- do parts.append(part.text) -%}
            {%- set part.text = "" -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{# Spark does not compare maps, nor what has some inside: each becomes an array of its entries. #}
{% macro _comparable(value, data_type) %}
    {{ return(alluvium._with_maps_as(value, data_type, "sort_array", "map_entries")) }}
{% endmacro %}


{# The value that `comparable` was made of. #}
{% macro _from_comparable(value, data_type) %}
    {{ return(alluvium._with_maps_as(value, data_type, "map_from_entries", "")) }}
{% endmacro %}


{# Each map as `outer` makes it of its entries, which `inner` gives, wherever it is in the type. #}
{% macro _with_maps_as(value, data_type, outer, inner) %}
    {%- set base = alluvium._base_type(data_type) -%}
    {%- if "map<" not in data_type -%}
        {{ return(value) }}
    {%- elif base == "map" -%}
        {%- set entries = inner ~ "(" ~ value ~ ")" if inner else value -%}
        {%- set changed = alluvium._with_maps_as("entry.value", alluvium._type_inside(data_type), outer, inner) -%}
        {{ return(
            outer ~ "(" ~ (
                entries if changed == "entry.value"
                else "transform(" ~ entries ~ ", entry -> struct(entry.key as key, " ~ changed ~ " as value))"
            ) ~ ")"
        ) }}
    {%- elif base == "array" -%}
        {{ return(
            "transform(" ~ value ~ ", element -> "
            ~ alluvium._with_maps_as("element", alluvium._type_inside(data_type), outer, inner) ~ ")"
        ) }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in alluvium._struct_fields(data_type) -%}
        {%- set name = alluvium._quoted_identifier(field.name) -%}
        {%- do
            fields.append(alluvium._with_maps_as(value ~ "." ~ name, field.data_type, outer, inner) ~ " as " ~ name) -%}
    {%- endfor -%}
    {{ return("if(" ~ value ~ " is null, null, struct(" ~ fields | join(", ") ~ "))") }}
{% endmacro %}


{#
    dbt-spark (1.11) takes a column that begins with `#` for the end of a table's columns. Such a name has to be quoted
    wherever it is written.
#}
{% macro _require_no_hidden_columns(compiled_code) %}
    {%- set found = modules.re.search("`#[^`]*`", compiled_code) -%}
    {%- if found -%}
        {% do alluvium._raise_invalid(
            "model " ~ model.name, "name of a column", found.group(0),
            "a name that does not begin with `#`: it and all columns after it would not be written"
        ) %}
    {%- endif -%}
{% endmacro %}


{#
    Types are compared as text: lower case, no blanks, one name each. The names of a struct's fields are the source's
    and stay.
#}
{% macro _normal_type(subject, data_type) %}
    {%- if "struct" in data_type | lower -%}
        {#- With the names of its fields as they are, and its words as the macros look for them. -#}
        {%- set given = namespace(type=data_type) -%}
        {%- for word in ["struct", "array", "map"] -%}
            {%- set given.type =
                modules.re.sub("(?i)(?:(<)\\s+)?\\b" ~ word ~ "\\s*<", "\\1" ~ word ~ "<", given.type) -%}
        {%- endfor -%}
        {{ return(given.type) }}
    {%- endif -%}
    {%- set known = [
        "string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp",
        "timestamp_ntz", "binary", "array", "map",
    ] -%}
    {%- set aliases = {"bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint",
        "real": "float", "numeric": "decimal", "dec": "decimal", "timestamp_ltz": "timestamp"} -%}
    {%- set normal = [] -%}
    {%- for word in modules.re.split("(\\W+)", data_type | lower | replace(" ", "")) -%}
        {%- set word = aliases.get(word, word) -%}
        {%- if word[:1].isalpha() and word not in known -%}
            {% do alluvium._raise_invalid(subject, "data_type", data_type, known + ["struct"]) %}
        {%- endif -%}
        {%- do normal.append(word) -%}
    {%- endfor -%}
    {#- As Spark completes them. -#}
    {%- set whole = modules.re.sub("decimal(?!\\()", "decimal(10,0)", normal | join) -%}
    {{ return(modules.re.sub("decimal\\((\\d+)\\)", "decimal(\\1,0)", whole)) }}
{% endmacro %}


{# Comma-separated column names, quoted, optionally with a prefix such as `target.`. #}
{% macro _column_list(names, prefix="") -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ alluvium._quoted_identifier(name)) -%}
    {%- endfor -%}
    {{ return(quoted) }}
{%- endmacro %}


{#
    A value as a whole number: days, or microseconds since 1970. Of a local time by its date and its hours, so that no
    session's time zone enters it (timestampdiff of Spark 3.5.7 takes that, and moves an hour of spring). Not as an
    interval, which is no decimal where it is as long as the infinity of PostgreSQL (3.5.7).
#}
{% macro _whole_number(column, value) %}
    {{ return({
        "date": "datediff(" ~ value ~ ", date '1970-01-01')",
        "timestamp": "unix_micros(" ~ value ~ ")",
        "timestamp_ntz": "cast(cast(datediff({0}, date '1970-01-01') as decimal(20,0)) * 86400000000 + (hour({0}) * "
        "3600 + minute({0}) * 60 + extract(second from {0})) * 1000000 as bigint)".format(value),
    }.get(column.data_type, value)) }}
{% endmacro %}
