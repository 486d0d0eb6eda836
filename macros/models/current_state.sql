{#
    The state of each key that a change log ever named, tombstones included: the rows that the model's merge
    (get_merge_sql in this folder) applies under the position guard. Reads only the batches of the log that the state
    has not applied. `snapshotted_with` are change logs of other tables of the same snapshots: one of them may see a
    snapshot end in which this table has no row any more.
    The whole body of a slv_..._state model: {{ current_state(ref('stg_shop__orders')) }}
#}
{% macro current_state(change_log, snapshotted_with=[]) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("state") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set cdc = (alluvium._own_config().get("meta") or {}).get("cdc") or {} -%}
    {%- set delete_policy = cdc.get("delete_policy", "soft") -%}
    {%- do alluvium._require_one_of(
        "current_state: model " ~ model.name, "meta.cdc.delete_policy", delete_policy, ["soft", "hard"]
    ) -%}
    {%- do alluvium._require_incremental("current_state", "merge") -%}
    {%- do alluvium._require_inputs_of_log("current_state", change_log, snapshotted_with) -%}
    {%- do alluvium._require_partitions_of_own_columns("current_state") -%}
    {%- set feed = alluvium._feed_of_own_log("current_state", change_log) -%}
    {%- do alluvium._require_countable(feed) if not feed.key -%}
    {%- if snapshotted_with and alluvium._has_declared_order(feed) -%}
        {% do alluvium._raise_invalid(
            "current_state: source " ~ feed.name, "snapshotted_with", snapshotted_with | map("string") | list,
            "none where meta.cdc declares the order: no position says where a snapshot began"
        ) %}
    {%- endif -%}
    {%- do alluvium._require_key_of_table(feed) -%}
    {%- set snapshotted_with = alluvium._logs_snapshotted_with(feed, snapshotted_with) -%}
    {%- set batches = alluvium._pending_batches(change_log) -%}
    {%- set resets = alluvium._pending_resets(change_log, feed, batches, snapshotted_with) if batches else [] -%}
    {%- if not feed.key -%}
        {{ return(alluvium._whole_body(
            alluvium._keyless_rows(change_log, feed, delete_policy, batches, resets, snapshotted_with)
        )) }}
    {%- endif -%}
    {{ return(alluvium._whole_body(alluvium._state_by_key(change_log, feed, delete_policy, batches, resets))) }}
{% endmacro %}
