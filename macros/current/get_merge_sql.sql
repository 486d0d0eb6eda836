{#
    dbt's incremental materialization with the merge strategy asks for this SQL. For a model with `meta.cdc.merge_guard` (the
    states of this project) it is a merge under the position guard; for any other model dbt-spark's own.
#}
{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
    {%- if alluvium.is_level_with_upstreams() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- if not cdc.merge_guard -%}
        {{ return(dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
    {%- endif -%}
    {%- set columns = alluvium.same_columns(source, target) -%}
    {%- set feed = alluvium.feed_of_node("get_merge_sql", model) -%}
    {{ return(alluvium.guarded_merge_sql(
        target, source, feed, columns, cdc.merge_guard, cdc.delete_policy or "soft"
    )) }}
{% endmacro %}


{#
    An event below the row's position changes nothing, whenever it arrives. One exception: values that a soft
    delete could not know (the image before it came later) are filled in under the image's own position.
#}
{% macro guarded_merge_sql(target, source, feed, columns, guard, delete_policy) -%}
    {%- set values = feed.columns | rejectattr("name", "in", feed.key) | map(attribute="name") | list -%}
    merge into {{ target }} as target
    using {{ source }} as source
    on
        {%- for name in feed.key %}
        {{ "and " if not loop.first }}target.{{ alluvium.quoted_identifier(name) }} {{ alluvium.key_equality(feed, name) }} source.{{ alluvium.quoted_identifier(name) }}
        {%- endfor %}
    when matched
        and (
            source.{{ guard }} > target.{{ guard }}
            {%- if delete_policy == "soft" %}
            or source._cdc_image_position > coalesce(target._cdc_image_position, '')
            {%- endif %}
        )
        then update set
            {%- for name in columns if name not in feed.key %}
            {{ alluvium.merged_column(name, delete_policy == "soft" and (name in values or name == "_cdc_image_position"), guard) }}{{ "," if not loop.last }}
            {%- endfor %}
    when not matched
        then insert ({{ alluvium.column_list(columns) | join(", ") }})
        values ({{ alluvium.column_list(columns, "source.") | join(", ") }})
{%- endmacro %}


{% macro key_equality(feed, name) %}
    {%- set column = feed.columns | selectattr("name", "equalto", name) | first -%}
    {{ return("<=>" if column.cdc.nullable else "=") }}
{% endmacro %}


{% macro merged_column(name, of_image, guard) -%}
    {%- set column = alluvium.quoted_identifier(name) -%}
    {%- set newer = "source._cdc_image_position > coalesce(target._cdc_image_position, '')" if of_image
        else "source." ~ guard ~ " > target." ~ guard -%}
    {{ column }} = if({{ newer }}, source.{{ column }}, target.{{ column }})
{%- endmacro %}
