{% macro _state_by_key(change_log, feed, delete_policy, batches, resets) -%}
{%- if alluvium._has_nothing_to_apply(change_log, feed, batches, resets) -%}
{{ alluvium._no_rows_sql() }}
{%- else -%}
{{
    alluvium._keyed_rows(
        alluvium._current_state_sql(change_log, feed, delete_policy, batches, resets), feed, feed.key
    ) }}
{%- endif -%}
{%- endmacro %}


{# The feed of the change log that a model gives first, which has to be its own. #}
{% macro _require_inputs_of_log(caller_name, change_log, snapshotted_with) %}
    {%- set kinds = ["change_log", "complete_change_log"] -%}
    {%- do alluvium._require_kind_of_input(caller_name, "change_log", change_log, kinds) -%}
    {%- if snapshotted_with is string or snapshotted_with is mapping or snapshotted_with is not sequence -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "snapshotted_with", snapshotted_with, "a list of ref(...)"
        ) %}
    {%- endif -%}
    {%- for relation in snapshotted_with -%}
        {%- do alluvium._require_kind_of_input(caller_name, "snapshotted_with", relation, kinds) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _feed_of_own_log(caller_name, change_log) %}
    {%- set feed = alluvium._feed_of_relation(caller_name, change_log) -%}
    {%- set feed_of_model = alluvium._feed_of_node(caller_name, alluvium._own_model()) -%}
    {%- if feed_of_model.name != feed.name -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "the first change log", feed_of_model.name,
            feed.name ~ ": the table's own log is given before the others"
        ) %}
    {%- endif -%}
    {{ return(feed) }}
{% endmacro %}


{#
    Rows merged on another key than those that are there would stand beside them; positions of two orders do not
    compare.
#}
{% macro _require_key_of_table(feed) %}
    {%- set order = alluvium._declared_order(feed) -%}
    {%- do alluvium._require_same_options(
        "current_state: source " ~ feed.name, "meta.cdc.key" ~ (" with the order " ~ tojson(order) if order else ""),
        feed.key,
        [feed.key, order] if order else feed.key,
        "the key and the order that " ~ this
        ~ " was built with; others need a full refresh of its change log and of all behind it",
    ) -%}
{% endmacro %}


{% macro _current_state_sql(change_log, feed, delete_policy, batches, resets) -%}
{%- set is_contested = alluvium._has_reused_keys(feed) -%}
with
{%- if is_contested and batches and is_incremental() %}
{{ alluvium._changes_with_past(change_log, feed, batches, resets) }}
{%- else %}
-- The row changes that this state has not applied.
changes as (
    {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(4) }}
),
{%- endif %}

-- Each event with the newest image of its row up to it.
images as (
    {{ alluvium._row_images("changes", feed, of_latest=true) | indent(4) }}
),

latest as (
    {{ alluvium._latest_by_key("images", feed.key, feed.key + alluvium._state_lineage_columns() + ["_cdc_image"])
        | indent(4) }}
){% if is_contested %},

-- What lives under the keys that two rows had at once.
contested as (
    {{ alluvium._rows_of_reused_keys("changes", feed, alluvium._positions_of_resets(resets)) | indent(4) }}
),

settled as (
    {{ alluvium._settled_rows("latest", "contested", feed) | indent(4) }}
)
{%- endif %}

{{ alluvium._apply_deletes("settled" if is_contested else "latest", feed, delete_policy, resets) }}
{%- endmacro %}
