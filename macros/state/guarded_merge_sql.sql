{#
    An event below the row's position changes nothing, whenever it arrives. Three exceptions: values that a soft delete
    could not know (the image before it came later) are filled in under the image's own position; so are values that the
    source sent before the image and not with it (_merged_unavailable_column in this folder); and a reset deletes what
    lies below it, also rows that no event names.
#}
{% macro _guarded_merge_sql(target, source, feed, columns, delete_policy, resets) -%}
    {%- set values, unmatched_values = {}, {} -%}
    {%- for name in columns -%}
        {%- do
            values.update({name: alluvium._merged_value(name, feed, delete_policy, resets)}) if name not in feed.key -%}
        {%- set value = alluvium._column_after_reset(name, feed, delete_policy, resets) -%}
        {%- do unmatched_values.update({name: value}) if value != "target." ~ alluvium._quoted_identifier(name) -%}
    {%- endfor -%}
    {{ return(alluvium._merge_sql(target, source, {
        "on": alluvium._is_merged_on(feed),
        "update_when": alluvium._changes_its_row(feed, delete_policy, resets),
        "set": values,
        "insert": alluvium._source_values(columns),
        "unmatched_when": alluvium._loses_its_row(resets) if resets else none,
        "set_unmatched": unmatched_values,
    })) }}
{%- endmacro %}


{#
    dbt-spark (1.11.0) compares the keys with `=`, for which a NULL is none: each change of a row whose key has one
    would add another. What deletes rows of the mart (`delete_vanished_keys`) takes two NULLs for one key, and so do the
    states.
#}
{% macro _with_null_safe_keys(sql, unique_key) %}
    {%- set merged = [sql] -%}
    {%- for name in ([unique_key] if unique_key is string else unique_key or []) -%}
        {%- set equal = "DBT_INTERNAL_SOURCE." ~ name ~ " = DBT_INTERNAL_DEST." ~ name -%}
        {%- do alluvium._require_one_of(
            "get_merge_sql: model " ~ model.name, "dbt-spark's condition on " ~ name, equal if equal in sql else none,
            [equal]
        ) -%}
        {%- do merged.append((merged | last).replace(equal, equal.replace(" = ", " <=> "))) -%}
    {%- endfor -%}
    {{ return(merged | last) }}
{% endmacro %}


{% macro _changes_its_row(feed, delete_policy, resets) -%}
{%- set is_contested = alluvium._has_reused_keys(feed) -%}
source._cdc_position {{ ">=" if is_contested else ">" }} target._cdc_position
{%- if delete_policy == "soft" and not is_contested %}
or source._cdc_image_position > coalesce(target._cdc_image_position, '')
{%- endif %}
{%- if feed.columns_left_out and not is_contested %}
or {{ alluvium._brings_unavailable_value(feed, delete_policy) }}
{%- endif %}
{%- if resets %}
or {{ alluvium._loses_its_row(resets) }}
{%- endif %}
{%- endmacro %}


{#
    The row's own event decides on its columns, its image's on the values of a soft delete; the batch is the one that
    changed the row last, which is what marts ask for (changed_keys).
#}
{% macro _merged_value(name, feed, delete_policy, resets) -%}
    {%- set column = alluvium._quoted_identifier(name) -%}
    {%- set is_of_soft_image = delete_policy == "soft" and alluvium._is_of_image(name, feed) -%}
    {%- if alluvium._has_reused_keys(feed) -%}
        {%- set newer = "source._cdc_position >= target._cdc_position"
            ~ (" and source._cdc_image_position is not null" if is_of_soft_image else "") -%}
    {%- else -%}
        {%- set newer = "source._cdc_image_position > coalesce(target._cdc_image_position, '')" if is_of_soft_image
            else "source._cdc_position > target._cdc_position" -%}
    {%- endif -%}
    {%- if name == "_cdc_batch" -%}
        {{ alluvium._latest_pending_batch() if alluvium._has_reused_keys(feed) else "source." ~ column }}
    {%- elif alluvium._is_filled_in(name, feed) -%}
        {{ alluvium._unless_deleted(alluvium._merged_unavailable_column(name, feed), delete_policy, resets) }}
    {%- else -%}
        if({{ newer }}, source.{{ column }}, {{ alluvium._column_after_reset(name, feed, delete_policy, resets) }})
    {%- endif -%}
{%- endmacro %}


{# The columns outside the key, and where they are from. #}
{% macro _is_of_image(name, feed) %}
    {{ return(
        name in ["_cdc_image_position", "_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns"]
        or name in alluvium._names_outside_key(feed)
    ) }}
{% endmacro %}


{# A row of the target that a reset takes away, or whose end an earlier reset brings forward that came late. #}
{% macro _loses_its_row(resets) -%}
    {{ alluvium._is_reset_away(resets, "target.") }}
        and (
            not target._is_deleted
            or not {{ alluvium._is_ended_by_its_delete() }}
                and target._deleted_at > {{ alluvium._reset_away_at(resets, "target.") | indent(16) }}
        )
{%- endmacro %}


{# What a column of the target is after the resets. #}
{% macro _column_after_reset(name, feed, delete_policy, resets) -%}
    {%- set column = "target." ~ alluvium._quoted_identifier(name) -%}
    {%- set loses = alluvium._is_reset_away(resets, "target.") if resets else "false" -%}
    {%- if resets and name == "_is_deleted" -%}
        {{ column }} or {{ loses }}
    {%- elif resets and name == "_deleted_at" -%}
        if(
            target._is_deleted and {{ alluvium._is_ended_by_its_delete() }},
            {{ column }},
            coalesce({{ alluvium._reset_away_at(resets, "target.") | indent(12) }}, {{ column }})
        )
    {%- elif resets and name == "_cdc_batch" -%}
        {{ alluvium._latest_pending_batch() }}
    {%- elif resets and delete_policy == "hard" and alluvium._is_of_image(name, feed) -%}
        if({{ loses }}, null, {{ column }})
    {%- else -%}
        {{ column }}
    {%- endif -%}
{%- endmacro %}
