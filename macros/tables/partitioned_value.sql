{#
    A column's value as the table gets it. Delta's log has no empty text as a partition's value: it writes NULL for one
    and says nothing, and so for the text by which Hive names the folder of NULL. Such a row stops the model, unless its
    `meta.cdc.empty_partition_value` takes the NULL.
#}
{% macro _partitioned_value(column, value) %}
    {%- set value = alluvium._stored_value(value, column.data_type) -%}
    {%- set cdc = (alluvium._own_config().get("meta") or {}).get("cdc") or {} -%}
    {%- do alluvium._require_partition("partitioned_value: model " ~ model.name, column.name, column.data_type) -%}
    {%- set policy = alluvium._require_one_of(
        "partitioned_value: model " ~ model.name, "meta.cdc.empty_partition_value",
        cdc.get("empty_partition_value", "fail"), ["fail", "null"]
    ) -%}
    {%- if column.data_type != "string" or not alluvium._is_partition(column.name) or policy == "null" -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set message = model.name ~ ": partition_by names " ~ column.name ~ ", which is an empty text, or "
    "`__HIVE_DEFAULT_PARTITION__`, in a row, and a partition can only have it as NULL: "
        ~ "partition by another column, or take the NULL with empty_partition_value: \"null\" "
        ~ "in meta.cdc of the model" -%}
    {{ return(
        "if(" ~ value ~ " in ('', '__HIVE_DEFAULT_PARTITION__'), raise_error(" ~ alluvium._string_literal(message)
        ~ "), " ~ value ~ ")"
    ) }}
{% endmacro %}


{# What a merge takes from its source for a column: a value that was found elsewhere has not passed the model's SQL. #}
{% macro _found_value(feed, name) %}
    {%- set column, value = alluvium._column_of(feed, name), "source." ~ alluvium._quoted_identifier(name) -%}
    {{ return(alluvium._partitioned_value(column, value) if column.data_type == "string" else value) }}
{% endmacro %}


{# Times of this project's own, before any SQL runs. Those of the source pass partitioned_value. #}
{% macro _require_partitions_of_own_columns(caller_name) %}
    {%- for name in ["_cdc_source_ts", "_deleted_at", "_valid_from", "_valid_to"] -%}
        {%- do alluvium._require_partition(caller_name ~ ": model " ~ model.name, name, "timestamp") -%}
    {%- endfor -%}
{% endmacro %}


{# Rows of a model whose own SQL may not know what a partition cannot have. #}
{% macro _partitioned_rows(caller_name, compiled_code) %}
    {%- set columns, values = [], [] -%}
    {#-
        Not from a view, which threads of one session share, nor by dbt-spark (1.11), to which a name that begins with
        `#` ends the columns.
    -#}
    {%- for column in alluvium._query_rows("describe query\n" ~ compiled_code) -%}
        {%- do columns.append(
            {"name": column.col_name | string, "dtype": column.data_type, "data_type": column.data_type}
        ) -%}
    {%- endfor -%}
    {%- do alluvium._require_partitions(caller_name, columns) -%}
    {%- for column in columns -%}
        {%- set name = alluvium._quoted_identifier(column.name) -%}
        {%- set is_checked = column.data_type == "string" and alluvium._is_partition(column.name) -%}
        {%- do values.append(alluvium._partitioned_value(column, name) ~ " as " ~ name if is_checked else name) -%}
    {%- endfor -%}
    {{ return("select\n    " ~ values | join(",\n    ") ~ "\nfrom (\n" ~ compiled_code ~ "\n) as unchecked") }}
{% endmacro %}


{#
    A table keeps those that it was made with, whatever the model says later, and what a partition cannot have is looked
    for by the model's.
#}
{% macro _require_partitions_of_table(caller_name, table) %}
    {%- set partitions = alluvium._partitions_of_table(table) -%}
    {%- set named = alluvium._partition_names() -%}
    {%- if partitions | map("lower") | list != named | map("lower") | list -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "partition_by", named or none,
            (partitions | join(", ") or "none") ~ ", as the table has it; another one needs "
            ~ alluvium._rebuild_command(table),
        ) %}
    {%- endif -%}
    {{ return(partitions) }}
{% endmacro %}


{% macro _partitions_of_table(table) %}
    {%- if not alluvium._is_hudi() -%}
        {#- dbt (1.11) gives a list as its JSON. -#}
        {{ return(fromjson(alluvium._query_rows("describe detail " ~ table)[0].partitionColumns)) }}
    {%- endif -%}
    {#- Below this line and the heading of the columns. -#}
    {%- set lines, begin =
        alluvium._query_rows("describe " ~ table) | map(attribute="col_name") | list, "# Partition Information" -%}
    {{ return(lines[lines.index(begin) + 2:] if begin in lines else []) }}
{% endmacro %}
