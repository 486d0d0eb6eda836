{#
    dbt's incremental materialization with the merge strategy asks for this SQL. Of a state it is a merge under the
    position guard, of a history a merge of versions; of any other model dbt-spark's own, but for an incremental mart:
    in Hudi it is computed whole (changed_keys), in Delta its keys are compared with `<=>`.
#}
{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- set is_hudi_mart = alluvium._is_hudi_mart() -%}
    {#- Also where there is nothing to merge: a run that passes would say that the format does. -#}
    {%- do alluvium._require_format_of_table("get_merge_sql") if alluvium._is_own_table() -%}
    {%- do
        alluvium._require_properties_of_hudi_table("model " ~ model.name, target) if alluvium._is_own_hudi_table() -%}
    {%- if alluvium._is_up_to_date() -%}
        {{ return(alluvium._nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium._require_partitions_of_table("get_merge_sql", target)
        if alluvium._is_own_table() and not is_hudi_mart -%}
    {%- if not alluvium._is_kept_by_key(model) and not is_hudi_mart -%}
        {%- set sql = dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
        {{ return(alluvium._with_null_safe_keys(sql, unique_key) if alluvium._kind_of_model(model) else sql) }}
    {%- endif -%}
    {%- do alluvium._require_claimed_session("get_merge_sql") -%}
    {%- do alluvium._require_clock_of_hudi("get_merge_sql", target) if alluvium._is_hudi() -%}
    {%- if is_hudi_mart -%}
        {{ return(alluvium._nothing_to_apply_sql() if flags.EMPTY else alluvium._overwrite_sql(source, target)) }}
    {%- endif -%}
    {%- set columns = alluvium._same_columns(source, target) -%}
    {%- set feed = alluvium._feed_of_node("get_merge_sql", model) -%}
    {%- if alluvium._is_history(model) -%}
        {{ return(alluvium._history_merge_sql(target, source, feed, columns)) }}
    {%- elif not feed.key -%}
        {{ return(
            alluvium._keyless_merge_sql(
                target, source, feed, columns, cdc.delete_policy or "soft", alluvium._remembered("adds_from", this)
            )
        ) }}
    {%- endif -%}
    {%- do feed.update({"columns_left_out": alluvium._columns_left_out(feed)}) -%}
    {{ return(alluvium._guarded_merge_sql(
        target, source, feed, columns, cdc.delete_policy or "soft", alluvium._remembered_resets()
    )) }}
{% endmacro %}
