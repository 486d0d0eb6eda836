{#
    The state of each key that a change log ever named, tombstones included: the rows that the model's merge
    (get_merge_sql in this folder) applies under the position guard. Reads only the batches of the log that the
    state has not applied.
    The whole body of a slv_..._state model: {{ current_state(ref('stg_shop__orders')) }}
#}
{% macro current_state(change_log) %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- set delete_policy = cdc.get("delete_policy", "soft") -%}
    {%- do alluvium.require_one_of("current_state", "meta.cdc.delete_policy", delete_policy, ["soft", "hard"]) -%}
    {%- if not execute -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium.require_incremental("current_state", "merge") -%}
    {#- Without it dbt-spark's own merge would let any event overwrite a newer row. -#}
    {%- do alluvium.require_one_of("current_state: model " ~ model.name, "meta.cdc.merge_guard", cdc.get("merge_guard"), ["_cdc_position"]) -%}
    {%- set feed = alluvium.feed_of_relation("current_state", change_log) -%}
    {%- if not feed.key -%}
        {% do alluvium.raise_invalid("current_state: source " ~ feed.name, "meta.cdc.key", feed.key, "at least one column: a table without a key has no current row per key") %}
    {%- endif -%}
    {{ return(adapter.dispatch("current_state", "alluvium")(change_log, feed, delete_policy, alluvium.pending_batches(change_log))) }}
{% endmacro %}


{% macro default__current_state(change_log, feed, delete_policy, batches) -%}
{%- if batches and batches.after == batches.until and is_incremental() and alluvium.has_columns(this, feed.columns) -%}
-- Every batch of the log is applied.
select *
from {{ this }}
where false
{%- else -%}
{{ alluvium.current_state_sql(change_log, feed, delete_policy, batches) }}
{%- endif -%}
{%- endmacro %}


{% macro current_state_sql(change_log, feed, delete_policy, batches) -%}
{%- set key = alluvium.column_list(feed.key) -%}
{%- set values = feed.columns | rejectattr("name", "in", feed.key) | map(attribute="name") | list -%}
with
-- The row changes that this state has not applied.
changes as (
    select *
    from {{ change_log }}
    where
        _cdc_kind = 'change'
        {%- if batches %}
        and _cdc_batch > {{ batches.after }}
        and _cdc_batch <= {{ batches.until }}
        {%- endif %}
),

-- Each event with the newest image of its key up to it: a delete brings none.
images as (
    select
        *,
        first_value(if(_cdc_op = 'd', null, struct({{ (alluvium.column_list(values) + ["_cdc_position"]) | join(", ") }})), true) over (
            partition by {{ key | join(", ") }}
            order by _cdc_position desc
            rows between current row and unbounded following
        ) as _cdc_image
    from changes
),

latest as (
    {{ alluvium.latest_by_key("images", feed.key, feed.key + alluvium.state_lineage_columns() + ["_cdc_image"]) | indent(4) }}
),

positioned as (
    select
        *,
        _cdc_image._cdc_position as _cdc_image_position
    from latest
)

{{ alluvium.apply_deletes("positioned", feed, delete_policy) }}
{%- endmacro %}
