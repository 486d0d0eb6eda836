{#
    The columns that both the rows to write and their table have, as the table spells them. A type that has changed since the table was made is refused:
    Spark would round a decimal to the table's scale, cut a time off a date, and say nothing.
#}
{% macro same_columns(source, target) %}
    {%- set types = {} -%}
    {%- for column in alluvium.columns_in_relation(source) -%}
        {%- do types.update({column.name | lower: column.dtype}) -%}
    {%- endfor -%}
    {%- set columns, names = alluvium.columns_in_relation(target), [] -%}
    {%- do alluvium.require_types(target, columns, types) -%}
    {%- for column in columns if column.name | lower in types -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# None where dbt only renders (may_query). For whom their types matter: of a struct Spark shows 25 fields by default, and two that differ behind those read alike (3.5). #}
{% macro columns_in_relation(relation) %}
    {%- set columns = adapter.get_columns_in_relation(relation) if alluvium.may_query() else [] -%}
    {%- for column in columns if modules.re.search("\\.\\.\\. \\d+ more fields", column.dtype) -%}
        {% do alluvium.raise_invalid(
            "model " ~ model.name, "type of column " ~ column.name, column.dtype,
            "a type that Spark shows whole; the session needs spark.sql.debug.maxToStringFields above the number of its fields (`server_side_parameters` of the profile, 1000 in Alluvium's)",
        ) %}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# `types` by names in lower case. #}
{% macro require_types(table, columns, types) %}
    {%- for column in columns if alluvium.stored_type(types.get(column.name | lower, column.dtype)) != column.dtype -%}
        {% do alluvium.raise_invalid(
            "model " ~ table.identifier,
            "type of column " ~ column.name,
            types[column.name | lower],
            column.dtype ~ ", as the table has it; another one needs " ~ alluvium.rebuild_command(table),
        ) %}
    {%- endfor -%}
{% endmacro %}


{# Spark has `_metadata` in every table of files. dbt-spark (1.11) leaves Hudi's five out of the columns of each table, whatever its format is: they would be NULL from the second build on. #}
{% macro is_own_column(name) %}
    {{ return((name | lower).startswith("_cdc_") or name | lower in [
        "_is_deleted", "_deleted_at", "_valid_from", "_valid_to", "_is_current", "_metadata",
        "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"
    ]) }}
{% endmacro %}


{# The condition that two rows have one key. #}
{% macro same_key(feed, one, other) %}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- set column = alluvium.quoted_identifier(name) -%}
        {%- do conditions.append(one ~ "." ~ column ~ " " ~ alluvium.key_equality(feed, name) ~ " " ~ other ~ "." ~ column) -%}
    {%- endfor -%}
    {{ return(conditions | join(" and ")) }}
{% endmacro %}


{% macro key_equality(feed, name) %}
    {{ return("<=>" if alluvium.column_of(feed, name).cdc.nullable else "=") }}
{% endmacro %}


{% macro column_of(feed, name) %}
    {{ return(alluvium.declared_columns(feed) | selectattr("name", "equalto", name) | first) }}
{% endmacro %}


{% macro names_outside_key(feed) %}
    {{ return(feed.columns | map(attribute="name") | reject("in", feed.key) | list) }}
{% endmacro %}


{# A type without its parameters: `decimal` of `decimal(12,2)`, `array` of `array<int>`. #}
{% macro base_type(data_type) %}
    {{ return(data_type.split("(")[0].split("<")[0]) }}
{% endmacro %}


{# Of an array its elements' type, of a map its values'. #}
{% macro type_inside(data_type) %}
    {{ return(alluvium.parts_of_type(data_type) | last | trim) }}
{% endmacro %}


{# The fields of a struct, {name, data_type} each, from its type as Spark's DDL writes it: `name: type` or `name type`. #}
{% macro struct_fields(data_type) %}
    {%- set fields = [] -%}
    {%- for text in alluvium.parts_of_type(data_type) -%}
        {%- set found = modules.re.fullmatch("\\s*(`(?:[^`]|``)+`|\\w+)(?:\\s*:\\s*|\\s+)(.+?)(?:\\s+not\\s+null)?\\s*", text, modules.re.IGNORECASE) -%}
        {%- if not found -%}
            {% do alluvium.raise_invalid("struct_fields", "data_type", data_type, "struct<name: type, ...> without comments") %}
        {%- endif -%}
        {%- set name = found.group(1) -%}
        {%- do fields.append({
            "name": name[1:-1] | replace("``", "`") if name[0] == "`" else name,
            "data_type": alluvium.normal_type("struct_fields", found.group(2)),
        }) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# What stands between the outer brackets, cut at the commas that are not inside of a field's type or name. #}
{% macro parts_of_type(data_type) %}
    {%- set parts, part = [], namespace(text="", depth=0, is_quoted=false) -%}
    {%- for character in data_type.partition("<")[2].rpartition(">")[0] ~ "," -%}
        {%- set part.is_quoted = part.is_quoted != (character == "`") -%}
        {%- set part.depth = part.depth + {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0) * (not part.is_quoted) -%}
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
{% macro comparable(value, data_type) %}
    {{ return(alluvium.with_maps_as(value, data_type, "sort_array", "map_entries")) }}
{% endmacro %}


{# The value that `comparable` was made of. #}
{% macro from_comparable(value, data_type) %}
    {{ return(alluvium.with_maps_as(value, data_type, "map_from_entries", "")) }}
{% endmacro %}


{# Each map as `outer` makes it of its entries, which `inner` gives, wherever it is in the type. #}
{% macro with_maps_as(value, data_type, outer, inner) %}
    {%- set base = alluvium.base_type(data_type) -%}
    {%- if "map<" not in data_type -%}
        {{ return(value) }}
    {%- elif base == "map" -%}
        {%- set entries = inner ~ "(" ~ value ~ ")" if inner else value -%}
        {%- set changed = alluvium.with_maps_as("entry.value", alluvium.type_inside(data_type), outer, inner) -%}
        {{ return(
            outer ~ "(" ~ (entries if changed == "entry.value" else "transform(" ~ entries ~ ", entry -> struct(entry.key as key, " ~ changed ~ " as value))") ~ ")"
        ) }}
    {%- elif base == "array" -%}
        {{ return("transform(" ~ value ~ ", element -> " ~ alluvium.with_maps_as("element", alluvium.type_inside(data_type), outer, inner) ~ ")") }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in alluvium.struct_fields(data_type) -%}
        {%- set name = alluvium.quoted_identifier(field.name) -%}
        {%- do fields.append(alluvium.with_maps_as(value ~ "." ~ name, field.data_type, outer, inner) ~ " as " ~ name) -%}
    {%- endfor -%}
    {{ return("if(" ~ value ~ " is null, null, struct(" ~ fields | join(", ") ~ "))") }}
{% endmacro %}


{#
    dbt-spark (1.11) takes a column that begins with `#` for the end of a table's columns. Such a name has to be quoted wherever it is written.
#}
{% macro refuse_hidden_columns(compiled_code) %}
    {%- set found = modules.re.search("`#[^`]*`", compiled_code) -%}
    {%- if found -%}
        {% do alluvium.raise_invalid("model " ~ model.name, "name of a column", found.group(0), "a name that does not begin with `#`: it and all columns after it would not be written") %}
    {%- endif -%}
{% endmacro %}
