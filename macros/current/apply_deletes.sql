{#
    What a delete does to the row of its key, once the ordering is settled. Either way the key stays as a
    tombstone with its position, so that a late event from before the delete cannot revive it.
    soft: the values of the last image before the delete stay (a delete's own image is often the key alone).
    hard: the values go, key and position stay.
    `from` has `_cdc_image` (struct of the columns outside the key; NULL where no image is known).
#}
{% macro apply_deletes(from, feed, delete_policy) %}
    {%- do alluvium.require_one_of("apply_deletes", "delete_policy", delete_policy, ["soft", "hard"]) -%}
    {{ return(adapter.dispatch("apply_deletes", "alluvium")(from, feed, delete_policy)) }}
{% endmacro %}


{% macro default__apply_deletes(from, feed, delete_policy) -%}
select
    {%- for column in feed.columns %}
    {%- set name = alluvium.quoted_identifier(column.name) %}
    {%- if column.name in feed.key %}
    {{ name }},
    {%- elif delete_policy == "hard" %}
    if(_cdc_op = 'd', null, _cdc_image.{{ name }}) as {{ name }},
    {%- else %}
    _cdc_image.{{ name }} as {{ name }},
    {%- endif %}
    {%- endfor %}
    _cdc_op = 'd' as _is_deleted,
    if(_cdc_op = 'd', _cdc_source_ts, null) as _deleted_at,
    {%- if delete_policy == "hard" %}
    if(_cdc_op = 'd', null, _cdc_position) as _cdc_image_position,
    {%- else %}
    _cdc_image_position,
    {%- endif %}
    {{ alluvium.state_lineage_columns() | join(",\n    ") }}
from {{ from }}
{%- endmacro %}


{# The `_cdc_*` columns that a state row keeps of the event that made it. #}
{% macro state_lineage_columns() %}
    {{ return([
        "_cdc_op", "_cdc_position", "_cdc_source_ts", "_cdc_transaction_id", "_cdc_kafka_partition", "_cdc_kafka_offset",
        "_cdc_file_path", "_cdc_line", "_cdc_batch",
    ]) }}
{% endmacro %}
