{#
    For each delete of a key that a second row took while the first one still had it: the rows that live after it, as
    _rows_of_reused_keys gives them for the newest event. A reset ends all rows of a key, so each stretch between two is
    looked at alone. `from` has all row changes of these keys, each once.
#}
{% macro _surviving_rows(from, feed, resets) -%}
{%- set key = alluvium._column_list(feed.key) | join(", ") -%}
select
    {{ key }},
    _cdc_following.event.position as _cdc_position,
    {{ alluvium._rows_after_events("slice(_cdc_events, 1, _cdc_place + 1)") | indent(4) }} as _cdc_rows
from (
    select
        {{ key }},
        array_sort(collect_list(struct(
            struct(_cdc_position as position, _cdc_op as op, {{ alluvium._image_of_event(feed) }} as image) as event,
            {{ alluvium._begins_transaction(feed) | indent(12) }} as begins_transaction
        ))) as _cdc_events
    from (
        {{ alluvium._marked_as_reused(alluvium._numbered_stretches(from, resets), feed, key ~ ", _cdc_stretch")
            | indent(8) }}
    ) as marked
    where _cdc_is_contested
    group by {{ key }}, _cdc_stretch
) as stretches
lateral view posexplode(_cdc_events) as _cdc_place, _cdc_following
where _cdc_following.event.op = 'd'
{%- endmacro %}


{% macro _numbered_stretches(from, resets) -%}
(
    select
        *,
        size(filter(
            {{ alluvium._literal_array(resets | map(attribute="position")) }}, position -> position <= _cdc_position
        )) as _cdc_stretch
    from {{ from }}
) as stretched
{%- endmacro %}
