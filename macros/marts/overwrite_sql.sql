{#
    Whatever the session's `partitionOverwriteMode` is: with DYNAMIC, partitions that have no row any more would stay.
    dbt-spark (1.11) sets that before any model with `partition_by` and this strategy, in a session that all threads
    share. Of Hudi's tables each has its own mode (_fixed_properties_of_hudi).
#}
{% macro _overwrite_sql(source, target) %}
    {%- set columns = alluvium._same_columns(source, target) -%}
    {%- set partitions = alluvium._require_partitions_of_table("overwrite_sql", target) -%}
    {{ return(
        alluvium._replace_all_sql(source, target, columns, partitions[0]) if partitions and not alluvium._is_hudi()
        else alluvium._insert_into_sql(source, target, columns, "overwrite")
    ) }}
{% endmacro %}


{# A table, for both materializations have the strategy from the folder. A view in it has no rows of its own. #}
{% macro _is_computed_whole() %}
    {{ return(
        config.get("incremental_strategy") == "insert_overwrite"
        and config.get("materialized") in ["incremental", "table"]
    ) }}
{% endmacro %}


{#
    Delta (3.3.3) asks for no mode where a condition says what is replaced, and takes a condition on a partition from
    its log, without reading rows. `true` is none to it. This statement of Spark's (3.5) has no list of columns: they
    come in the table's order.
#}
{% macro _replace_all_sql(source, target, columns, partition) -%}
    {%- set partition = alluvium._quoted_identifier(partition) -%}
    insert into {{ target }}
    replace where {{ partition }} is null or {{ partition }} is not null
    select
        {%- for column in adapter.get_columns_in_relation(target) %}
        {%- set name = alluvium._quoted_identifier(column.name) %}
        {{ name if column.name in columns else "null as " ~ name }}{{ "," if not loop.last }}
        {%- endfor %}
    from {{ source }}
{%- endmacro %}
