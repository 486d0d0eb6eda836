{#
    What a delete does to the row of its key, once the ordering is settled. Either way the key stays as a
    tombstone with its position, so that a late event from before the delete cannot revive it.
    soft: the values of the last image before the delete stay (a delete's own image is often the key alone).
    hard: the values go, key and position stay.
    A reset (_pending_resets in this folder) deletes what it finds, as an event would.
    `from` has `_cdc_image` (_row_images in this folder; NULL where no image is known) and, where keys may be contested,
    `_cdc_is_survivor` (_rows_of_reused_keys).
#}
{% macro _apply_deletes(from, feed, delete_policy, resets=[]) %}
    {%- do alluvium._require_one_of("apply_deletes", "delete_policy", delete_policy, ["soft", "hard"]) -%}
    {{ return(alluvium._apply_deletes_sql(from, feed, delete_policy, resets)) }}
{% endmacro %}


{% macro _apply_deletes_sql(from, feed, delete_policy, resets) -%}
{%- set is_delete = "_cdc_op = 'd' and not _cdc_is_survivor" if alluvium._has_reused_keys(feed) else "_cdc_op = 'd'" -%}
{%- set is_deleted = is_delete ~ (" or " ~ alluvium._is_reset_away(resets) if resets else "") -%}
{%- set image_value = "if(" ~ is_deleted ~ ", null, _cdc_image.{})" if delete_policy == "hard" else "_cdc_image.{}" -%}
select
    {%- for column in feed.columns %}
    {%- set name = alluvium._quoted_identifier(column.name) %}
    {%- set value = name if column.name in feed.key else image_value.format(name) %}
    {%- set value = alluvium._partitioned_value(column, value) %}
    {{ value }}{{ " as " ~ name if value != name }},
    {%- endfor %}
    {{ is_deleted }} as _is_deleted,
    if({{ is_delete }}, _cdc_source_ts, {{ alluvium._reset_away_at(resets) if resets else "null" }}) as _deleted_at,
    {{ image_value.format("_cdc_position") }} as _cdc_image_position,
    {%- for name in ["_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns"] %}
    {{ image_value.format(name) }} as {{ name }},
    {%- endfor %}
    {{ alluvium._state_lineage_columns() | join(",\n    ") }}
from {{ from }}
{%- endmacro %}
