{#
    Fails for each version of a history that does not end before the next one of its key begins: at every position a key
    has one row at most.
#}
{% test versions_do_not_overlap(model, key) %}
{%- set columns = alluvium._column_list(key) | join(", ") %}
select
    {{ columns }},
    _cdc_position,
    _cdc_ended_position,
    next_position
from (
    select
        *,
        lead(_cdc_position) over (partition by {{ columns }} order by _cdc_position) as next_position
    from {{ model }}
) as followed
where
    _cdc_ended_position <= _cdc_position
    or coalesce(_cdc_ended_position > next_position, next_position is not null)
{% endtest %}
