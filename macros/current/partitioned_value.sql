{#
    A column's value as the table gets it. Delta's log has no empty text as a partition's value: it writes NULL for one and says nothing, and so for the
    text by which Hive names the folder of NULL. Such a row stops the model, unless its `meta.cdc.empty_partition_value` takes the NULL.
#}
{% macro partitioned_value(column, value) %}
    {%- set value = alluvium.stored_value(value, column.data_type) -%}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- set partition_by = config.get("partition_by") or [] -%}
    {%- set policy = alluvium.require_one_of(
        "partitioned_value: model " ~ model.name, "meta.cdc.empty_partition_value", cdc.get("empty_partition_value", "fail"), ["fail", "null"]
    ) -%}
    {%- if column.data_type != "string" or column.name not in ([partition_by] if partition_by is string else partition_by) or policy == "null" -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set message = model.name ~ ": partition_by names " ~ column.name ~ ", which is an empty text in a row, and a partition can only have it as NULL: "
        ~ "partition by another column, or take the NULL with empty_partition_value: \"null\" in meta.cdc of the model" -%}
    {{ return(
        "if(" ~ value ~ " in ('', '__HIVE_DEFAULT_PARTITION__'), raise_error(" ~ alluvium.string_literal(message) ~ "), " ~ value ~ ")"
    ) }}
{% endmacro %}
