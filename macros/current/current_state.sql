{#
    The state of each key that a change log ever named, tombstones included: the rows that the model's merge
    (get_merge_sql in this folder) applies under the position guard. Reads only the batches of the log that the
    state has not applied.
    `snapshotted_with` are change logs of other tables of the same snapshots: one of them may see a snapshot end in which
    this table has no row any more.
    The whole body of a slv_..._state model: {{ current_state(ref('stg_shop__orders')) }}
#}
{% macro current_state(change_log, snapshotted_with=[]) %}
    {%- if not execute -%}
        {%- do alluvium.set_model("state") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set cdc = (alluvium.own_config().get("meta") or {}).get("cdc") or {} -%}
    {%- set delete_policy = cdc.get("delete_policy", "soft") -%}
    {%- do alluvium.require_one_of("current_state: model " ~ model.name, "meta.cdc.delete_policy", delete_policy, ["soft", "hard"]) -%}
    {%- do alluvium.require_incremental("current_state", "merge") -%}
    {%- do alluvium.require_partitions_of_own_columns("current_state") -%}
    {%- set feed = alluvium.feed_of_own_log("current_state", change_log) -%}
    {%- do alluvium.require_countable(feed) if not feed.key -%}
    {%- if snapshotted_with and alluvium.has_declared_order(feed) -%}
        {% do alluvium.raise_invalid("current_state: source " ~ feed.name, "snapshotted_with", snapshotted_with | map("string") | list, "none where meta.cdc declares the order: no position says where a snapshot began") %}
    {%- endif -%}
    {%- do alluvium.require_key_of_table(feed) -%}
    {%- set snapshotted_with = alluvium.logs_snapshotted_with(feed, snapshotted_with) -%}
    {%- set batches = alluvium.pending_batches(change_log) -%}
    {%- set resets = alluvium.pending_resets(change_log, feed, batches, snapshotted_with) if batches else [] -%}
    {%- if not feed.key -%}
        {{ return(alluvium.counted_rows(change_log, feed, delete_policy, batches, resets, snapshotted_with)) }}
    {%- endif -%}
    {{ return(alluvium.state_by_key(change_log, feed, delete_policy, batches, resets)) }}
{% endmacro %}


{# The feed of the change log that a model gives first, which has to be its own. #}
{% macro feed_of_own_log(caller_name, change_log) %}
    {%- set feed = alluvium.feed_of_relation(caller_name, change_log) -%}
    {%- set feed_of_model = alluvium.feed_of_node(caller_name, alluvium.own_model()) -%}
    {%- if feed_of_model.name != feed.name -%}
        {% do alluvium.raise_invalid(caller_name ~ ": model " ~ model.name, "the first change log", feed_of_model.name, feed.name ~ ": the table's own log is given before the others") %}
    {%- endif -%}
    {{ return(feed) }}
{% endmacro %}


{# Rows merged on another key than those that are there would stand beside them; positions of two orders do not compare. #}
{% macro require_key_of_table(feed) %}
    {%- set order = alluvium.declared_order(feed) -%}
    {%- do alluvium.require_same_options(
        "current_state: source " ~ feed.name, "meta.cdc.key" ~ (" with the order " ~ tojson(order) if order else ""), feed.key,
        [feed.key, order] if order else feed.key,
        "the key and the order that " ~ this ~ " was built with; others need a full refresh of its change log and of all behind it",
    ) -%}
{% endmacro %}


{% macro state_by_key(change_log, feed, delete_policy, batches, resets) -%}
{%- if alluvium.has_nothing_to_apply(change_log, feed, batches, resets) -%}
{{ alluvium.no_rows_sql() }}
{%- else -%}
{{ alluvium.keyed_rows(alluvium.current_state_sql(change_log, feed, delete_policy, batches, resets), feed, feed.key) }}
{%- endif -%}
{%- endmacro %}


{% macro has_nothing_to_apply(change_log, feed, batches, resets) %}
    {{ return(batches and is_incremental() and alluvium.apply_schema_change(feed, change_log, batches.after) and batches.after == batches.until and not resets) }}
{% endmacro %}


{% macro no_rows_sql() -%}
-- Every batch of the log is applied.
select *
from {{ this }}
where false
{%- endmacro %}


{% macro current_state_sql(change_log, feed, delete_policy, batches, resets) -%}
{%- set is_contested = alluvium.has_contested_keys(feed) -%}
with
{%- if is_contested and batches and is_incremental() %}
{{ alluvium.changes_with_past(change_log, feed, batches, resets) }}
{%- else %}
-- The row changes that this state has not applied.
changes as (
    {{ alluvium.changes_of_batches(change_log, feed, batches) | indent(4) }}
),
{%- endif %}

-- Each event with the newest image of its row up to it.
images as (
    {{ alluvium.row_images("changes", feed) | indent(4) }}
),

latest as (
    {{ alluvium.latest_by_key("images", feed.key, feed.key + alluvium.state_lineage_columns() + ["_cdc_image"]) | indent(4) }}
){% if is_contested %},

-- What lives under the keys that two rows had at once.
contested as (
    {{ alluvium.contested_rows("changes", feed, alluvium.positions_of_resets(resets)) | indent(4) }}
),

settled as (
    {{ alluvium.settled_rows("latest", "contested", feed) | indent(4) }}
)
{%- endif %}

{{ alluvium.apply_deletes("settled" if is_contested else "latest", feed, delete_policy, resets) }}
{%- endmacro %}


{% macro changes_of_batches(change_log, feed, batches) -%}
select *
from {{ change_log }}
where
    _cdc_kind = 'change'
    {%- if batches %}
    {%- if batches.after %}
    and _cdc_batch > {{ batches.after }}
    {%- endif %}
    and _cdc_batch <= {{ batches.until }}
    {%- endif %}
    and {{ alluvium.has_its_place(change_log, feed) }}
{%- endmacro %}


{#
    True, or the query fails: a change without a position or without its key would never be merged, or merged twice. Change logs reject them; those of earlier
    releases may have some. The kind is a part of the condition, because Spark may evaluate it before the conditions beside it.
#}
{% macro has_its_place(change_log, feed) -%}
    {%- set conditions = ["_cdc_position is null"] -%}
    {%- for name in feed.key if not alluvium.column_of(feed, name).cdc.nullable -%}
        {%- do conditions.append("_cdc_kind = 'change' and " ~ alluvium.quoted_identifier(name) ~ " is null") -%}
    {%- endfor -%}
    if(_cdc_kind in ('change', 'truncate') and ({{ conditions | join(" or ") }}), raise_error({{ alluvium.string_literal(alluvium.said_of_lost_place(change_log, change_log)) }}), true)
{%- endmacro %}


{% macro said_of_lost_place(table, change_log) %}
    {{ return(
        table.identifier ~ " has rows without a position, or with NULL in a key column that is not declared nullable: later changes of them would be lost. An earlier release "
        ~ "accepted them; " ~ alluvium.rebuild_command(change_log) ~ " reads the files again and rejects them"
    ) }}
{% endmacro %}


{# Looked for once in a table of an earlier release: a key that has no new change would keep a row that is wrong. #}
{% macro require_placed_rows(properties) %}
    {%- if alluvium.is_run() and "has_positions" not in properties -%}
        {%- if alluvium.query_rows("select 1 as missing from " ~ this ~ " where _cdc_position is null limit 1") -%}
            {{ exceptions.raise_compiler_error(alluvium.said_of_lost_place(this, alluvium.change_log_of_model()) ~ ".") }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
