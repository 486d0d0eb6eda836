{#
    dbt's incremental materialization with the merge strategy asks for this SQL. Of a state it is a merge under the position guard, of a history a merge of versions; of any
    other model dbt-spark's own, but for an incremental mart: in Hudi it is computed whole (changed_keys), in Delta its keys are compared with `<=>`.
#}
{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- set is_hudi_mart = alluvium.is_hudi_mart() -%}
    {#- Also where there is nothing to merge: a run that passes would say that the format does. -#}
    {%- do alluvium.require_format_of_table("get_merge_sql") if alluvium.is_own_table() -%}
    {%- do alluvium.require_properties_of_hudi_table("model " ~ model.name, target) if alluvium.is_own_hudi_table() -%}
    {%- if alluvium.is_level_with_upstreams() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium.require_partitions_of_table("get_merge_sql", target) if alluvium.is_own_table() and not is_hudi_mart -%}
    {%- if not alluvium.is_kept_by_key(model) and not is_hudi_mart -%}
        {%- set sql = dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
        {{ return(alluvium.with_null_safe_keys(sql, unique_key) if alluvium.kind_of_model(model) else sql) }}
    {%- endif -%}
    {%- do alluvium.require_claimed_session("get_merge_sql") -%}
    {%- do alluvium.require_clock_of_hudi("get_merge_sql", target) if alluvium.is_hudi() -%}
    {%- if is_hudi_mart -%}
        {{ return(alluvium.nothing_to_apply_sql() if flags.EMPTY else alluvium.overwrite_sql(source, target)) }}
    {%- endif -%}
    {%- set columns = alluvium.same_columns(source, target) -%}
    {%- set feed = alluvium.feed_of_node("get_merge_sql", model) -%}
    {%- if alluvium.is_history(model) -%}
        {{ return(alluvium.history_merge_sql(target, source, feed, columns)) }}
    {%- elif not feed.key -%}
        {{ return(alluvium.counted_merge_sql(target, source, feed, columns, cdc.delete_policy or "soft", alluvium.remembered("adds_from", this))) }}
    {%- endif -%}
    {{ return(alluvium.guarded_merge_sql(
        target, source, feed, columns, cdc.delete_policy or "soft", alluvium.remembered_resets()
    )) }}
{% endmacro %}


{#
    dbt-spark (1.11.0) compares the keys with `=`, for which a NULL is none: each change of a row whose key has one would add another. What deletes rows of the mart
    (delete_vanished_keys) takes two NULLs for one key, and so do the states.
#}
{% macro with_null_safe_keys(sql, unique_key) %}
    {%- set merged = [sql] -%}
    {%- for name in ([unique_key] if unique_key is string else unique_key or []) -%}
        {%- set equal = "DBT_INTERNAL_SOURCE." ~ name ~ " = DBT_INTERNAL_DEST." ~ name -%}
        {%- do alluvium.require_one_of("get_merge_sql: model " ~ model.name, "dbt-spark's condition on " ~ name, equal if equal in sql else none, [equal]) -%}
        {%- do merged.append((merged | last).replace(equal, equal.replace(" = ", " <=> "))) -%}
    {%- endfor -%}
    {{ return(merged | last) }}
{% endmacro %}


{#
    An event below the row's position changes nothing, whenever it arrives. Three exceptions: values that a soft
    delete could not know (the image before it came later) are filled in under the image's own position; so are values that
    the source sent before the image and not with it (merged_held_column in this folder); and a reset deletes what lies
    below it, also rows that no event names.
#}
{% macro guarded_merge_sql(target, source, feed, columns, delete_policy, resets) -%}
    {%- set values, unmatched_values = {}, {} -%}
    {%- for name in columns -%}
        {%- do values.update({name: alluvium.merged_value(name, feed, delete_policy, resets)}) if name not in feed.key -%}
        {%- set value = alluvium.column_after_reset(name, feed, delete_policy, resets) -%}
        {%- do unmatched_values.update({name: value}) if value != "target." ~ alluvium.quoted_identifier(name) -%}
    {%- endfor -%}
    {{ return(alluvium.merge_sql(target, source, {
        "on": alluvium.same_key(feed, "target", "source"),
        "update_when": alluvium.changes_its_row(feed, delete_policy, resets),
        "set": values,
        "insert": alluvium.source_values(columns),
        "unmatched_when": alluvium.loses_its_row(resets) if resets else none,
        "set_unmatched": unmatched_values,
    })) }}
{%- endmacro %}


{% macro changes_its_row(feed, delete_policy, resets) -%}
{%- set is_contested = alluvium.has_contested_keys(feed) -%}
source._cdc_position {{ ">=" if is_contested else ">" }} target._cdc_position
{%- if delete_policy == "soft" and not is_contested %}
or source._cdc_image_position > coalesce(target._cdc_image_position, '')
{%- endif %}
{%- if alluvium.columns_of_unavailable_values(feed) and not is_contested %}
or {{ alluvium.brings_held_value(feed, delete_policy) }}
{%- endif %}
{%- if resets %}
or {{ alluvium.loses_its_row(resets) }}
{%- endif %}
{%- endmacro %}


{#
    The row's own event decides on its columns, its image's on the values of a soft delete; the batch is the one that changed
    the row last, which is what marts ask for (changed_keys).
#}
{% macro merged_value(name, feed, delete_policy, resets) -%}
    {%- set column = alluvium.quoted_identifier(name) -%}
    {%- set is_of_soft_image = delete_policy == "soft" and alluvium.is_of_image(name, feed) -%}
    {%- if alluvium.has_contested_keys(feed) -%}
        {%- set newer = "source._cdc_position >= target._cdc_position" ~ (" and source._cdc_image_position is not null" if is_of_soft_image else "") -%}
    {%- else -%}
        {%- set newer = "source._cdc_image_position > coalesce(target._cdc_image_position, '')" if is_of_soft_image
            else "source._cdc_position > target._cdc_position" -%}
    {%- endif -%}
    {%- if name == "_cdc_batch" -%}
        {{ alluvium.newest_pending_batch() if alluvium.has_contested_keys(feed) else "source." ~ column }}
    {%- elif alluvium.is_held(name, feed) -%}
        {{ alluvium.unless_deleted(alluvium.merged_held_column(name, feed), delete_policy, resets) }}
    {%- else -%}
        if({{ newer }}, source.{{ column }}, {{ alluvium.column_after_reset(name, feed, delete_policy, resets) }})
    {%- endif -%}
{%- endmacro %}


{# The columns outside the key, and where they are from. #}
{% macro is_of_image(name, feed) %}
    {{ return(
        name in ["_cdc_image_position", "_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns"]
        or name in alluvium.names_outside_key(feed)
    ) }}
{% endmacro %}


{# A row of the target that a reset takes away, or whose end an earlier reset brings forward that came late. #}
{% macro loses_its_row(resets) -%}
    {{ alluvium.is_reset_away(resets, "target.") }}
        and (
            not target._is_deleted
            or not {{ alluvium.is_ended_by_its_delete() }} and target._deleted_at > {{ alluvium.reset_away_at(resets, "target.") | indent(12) }}
        )
{%- endmacro %}


{# Not of a row that has outlived the newest delete of its key (contested_rows), and ended with a reset. #}
{% macro is_ended_by_its_delete() %}
    {{ return("(target._cdc_op = 'd' and target._deleted_at <=> target._cdc_source_ts)") }}
{% endmacro %}


{# What a column of the target is after the resets. #}
{% macro column_after_reset(name, feed, delete_policy, resets) -%}
    {%- set column = "target." ~ alluvium.quoted_identifier(name) -%}
    {%- set loses = alluvium.is_reset_away(resets, "target.") if resets else "false" -%}
    {%- if resets and name == "_is_deleted" -%}
        {{ column }} or {{ loses }}
    {%- elif resets and name == "_deleted_at" -%}
        if(target._is_deleted and {{ alluvium.is_ended_by_its_delete() }}, {{ column }}, coalesce({{ alluvium.reset_away_at(resets, "target.") | indent(12) }}, {{ column }}))
    {%- elif resets and name == "_cdc_batch" -%}
        {{ alluvium.newest_pending_batch() }}
    {%- elif resets and delete_policy == "hard" and alluvium.is_of_image(name, feed) -%}
        if({{ loses }}, null, {{ column }})
    {%- else -%}
        {{ column }}
    {%- endif -%}
{%- endmacro %}
