{#
    The history of each key that a change log ever named: one row per version of its row, with half-open intervals. The
    order is that of `_cdc_position`, and a version holds for the positions from `_cdc_position` up to, not with,
    `_cdc_ended_position`; `_valid_from` and `_valid_to` are the source's times of the same two events. At each position
    the history shows what a state would that had all events up to it. A run computes the keys anew that its batches
    name, from all of their events, and merges the versions that differ (_history_merge_sql in this folder). The two
    lists say which columns make a version, as in AUTO CDC: all but the key by default. A version shows the last values
    of the others. Without `collapse_unchanged` each event that leaves a row makes a version.
    The whole body of a slv_..._history model: {{ history(ref('stg_shop__orders')) }}
#}
{% macro history(
    change_log, track_history_column_list=none, track_history_except_column_list=none, collapse_unchanged=true,
    snapshotted_with=[]
) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("history") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium._require_incremental("history", "merge") -%}
    {%- do alluvium._require_inputs_of_log("history", change_log, snapshotted_with) -%}
    {%- set subject = "history: model " ~ model.name -%}
    {%- do alluvium._require_one_of(subject, "collapse_unchanged", collapse_unchanged, [true, false]) -%}
    {%- do alluvium._require_partitions_of_own_columns("history") -%}
    {%- set feed = alluvium._feed_of_own_log("history", change_log) -%}
    {%- if not feed.key -%}
        {% do alluvium._raise_invalid(
            "history: source " ~ feed.name, "meta.cdc.key", feed.key,
            "at least one column: nothing tells the versions of rows without a key apart"
        ) %}
    {%- endif -%}
    {%- if track_history_column_list is none and track_history_except_column_list is none -%}
        {%- set track_history_column_list, track_history_except_column_list =
            feed.track_history_column_list, feed.track_history_except_column_list -%}
    {%- endif -%}
    {%- set tracked =
        alluvium._tracked_columns(subject, feed, track_history_column_list, track_history_except_column_list) -%}
    {%- set order = alluvium._declared_order(feed) -%}
    {%- set options = [
        feed.key, track_history_column_list, track_history_except_column_list, collapse_unchanged
    ] + ([order] if order else []) -%}
    {#- Versions that were made in another way would stay until their key has an event. -#}
    {%- do alluvium._require_same_options(
        subject,
        "the key" ~ (" and the order" if order else "")
        ~ " with track_history_column_list, track_history_except_column_list and collapse_unchanged",
        options, options
    ) -%}
    {%- set batches = alluvium._pending_batches(change_log) -%}
    {%- do alluvium._take_all_where_tracked_otherwise(tracked, batches) if batches and collapse_unchanged -%}
    {%- set resets =
        alluvium._resets_of_history(change_log, feed, batches, alluvium._logs_snapshotted_with(feed, snapshotted_with))
        if batches else [] -%}
    {%- do alluvium._ask_for_columns_left_out(change_log, feed, batches) if batches -%}
    {{ return(alluvium._whole_body(
        alluvium._history_sql(change_log, feed, tracked if collapse_unchanged else none, batches, resets)
    )) }}
{% endmacro %}
