{#
    A column's value as the table gets it. Delta's log has no empty text as a partition's value: it writes NULL for one and says nothing, and so for the
    text by which Hive names the folder of NULL. Such a row stops the model, unless its `meta.cdc.empty_partition_value` takes the NULL.
#}
{% macro partitioned_value(column, value) %}
    {%- set value = alluvium.stored_value(value, column.data_type) -%}
    {%- set cdc = (alluvium.own_config().get("meta") or {}).get("cdc") or {} -%}
    {%- do alluvium.require_partition("partitioned_value: model " ~ model.name, column.name, column.data_type) -%}
    {%- set policy = alluvium.require_one_of(
        "partitioned_value: model " ~ model.name, "meta.cdc.empty_partition_value", cdc.get("empty_partition_value", "fail"), ["fail", "null"]
    ) -%}
    {%- if column.data_type != "string" or not alluvium.is_partition(column.name) or policy == "null" -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set message = model.name ~ ": partition_by names " ~ column.name ~ ", which is an empty text, or `__HIVE_DEFAULT_PARTITION__`, in a row, and a partition can only have it as NULL: "
        ~ "partition by another column, or take the NULL with empty_partition_value: \"null\" in meta.cdc of the model" -%}
    {{ return(
        "if(" ~ value ~ " in ('', '__HIVE_DEFAULT_PARTITION__'), raise_error(" ~ alluvium.string_literal(message) ~ "), " ~ value ~ ")"
    ) }}
{% endmacro %}


{# What a merge takes from its source for a column: a value that was found elsewhere has not passed the model's SQL. #}
{% macro found_value(feed, name) %}
    {%- set column, value = alluvium.column_of(feed, name), "source." ~ alluvium.quoted_identifier(name) -%}
    {{ return(alluvium.partitioned_value(column, value) if column.data_type == "string" else value) }}
{% endmacro %}


{# Times of this project's own, before any SQL runs. Those of the source pass partitioned_value. #}
{% macro require_partitions_of_own_columns(caller_name) %}
    {%- for name in ["_cdc_source_ts", "_deleted_at", "_valid_from", "_valid_to"] -%}
        {%- do alluvium.require_partition(caller_name ~ ": model " ~ model.name, name, "timestamp") -%}
    {%- endfor -%}
{% endmacro %}


{# Rows of a model whose own SQL may not know what a partition cannot have. #}
{% macro partitioned_rows(caller_name, compiled_code) %}
    {%- set columns, values = [], [] -%}
    {#- Not from a view, which threads of one session share, nor by dbt-spark (1.11), to which a name that begins with `#` ends the columns. -#}
    {%- for column in alluvium.query_rows("describe query\n" ~ compiled_code) -%}
        {%- do columns.append({"name": column.col_name | string, "dtype": column.data_type, "data_type": column.data_type}) -%}
    {%- endfor -%}
    {%- do alluvium.require_partitions(caller_name, columns) -%}
    {%- for column in columns -%}
        {%- set name = alluvium.quoted_identifier(column.name) -%}
        {%- set is_checked = column.data_type == "string" and alluvium.is_partition(column.name) -%}
        {%- do values.append(alluvium.partitioned_value(column, name) ~ " as " ~ name if is_checked else name) -%}
    {%- endfor -%}
    {{ return("select\n    " ~ values | join(",\n    ") ~ "\nfrom (\n" ~ compiled_code ~ "\n) as unchecked") }}
{% endmacro %}


{# As Spark finds a column, whatever its case. #}
{% macro is_partition(name) %}
    {{ return(name | lower in alluvium.partition_names() | map("lower")) }}
{% endmacro %}


{# dbt-spark writes what it is given between brackets: a text may name several, and any may be quoted. #}
{% macro partition_names() %}
    {%- set partition_by, names = alluvium.own_config().get("partition_by") or [], [] -%}
    {%- for quoted, plain in modules.re.findall("`((?:[^`]|``)+)`|([^,`]+)", ([partition_by] if partition_by is string else partition_by) | join(",")) -%}
        {%- do names.append(quoted | replace("``", "`") or plain | trim) -%}
    {%- endfor -%}
    {{ return(names | select | list) }}
{% endmacro %}


{# Of the columns of a query, with `name` and `dtype`. #}
{% macro require_partitions(caller_name, columns) %}
    {%- for column in columns -%}
        {%- do alluvium.require_partition(caller_name, column.name, column.dtype) -%}
    {%- endfor -%}
{% endmacro %}


{#
    Types whose values would be other ones as a partition's. Delta (3.3.3) moves a time by the session's zone twice as it writes it, and takes bytes for UTF-8. Hudi (1.2.0) reads the
    names of folders: a time has whole seconds there, in the session's zone, and bytes are digits.
#}
{% macro require_partition(caller_name, name, data_type) %}
    {%- if alluvium.is_partition(name) and (data_type in ["timestamp", "binary"] or data_type == "timestamp_ntz" and alluvium.is_hudi()) -%}
        {% do alluvium.raise_invalid(
            caller_name, "type of column " ~ name ~ ", which partition_by names,", data_type,
            "a type whose values are the same as a partition's, such as date or string" ~ (", where file_format is hudi" if data_type == "timestamp_ntz" else ""),
        ) %}
    {%- endif -%}
{% endmacro %}
