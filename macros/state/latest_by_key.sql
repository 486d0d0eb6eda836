{#
    The latest event of each key: row_number over the position, newest first. Deletes take part: which of them win is
    known only after the ordering (`_apply_deletes`). `columns` are the columns to keep, `from` a CTE or relation with
    `_cdc_position`. With `expressions` beside the key it is the latest of what they tell apart, too.
#}
{% macro _latest_by_key(from, key, columns, order_by="_cdc_position", expressions=[]) %}
    {%- if not key -%}
        {% do alluvium._raise_invalid("latest_by_key", "key", key, "at least one column") %}
    {%- endif -%}
    {{ return(alluvium._latest_by_key_sql(from, key, columns, order_by, expressions)) }}
{% endmacro %}


{% macro _latest_by_key_sql(from, key, columns, order_by, expressions=[]) -%}
select
    {{ alluvium._column_list(columns) | join(",\n    ") }}
from (
    select
        *,
        row_number() over (
            partition by {{ (alluvium._column_list(key) + expressions) | join(", ") }} order by {{ order_by }} desc
        ) as _cdc_newest_first
    from {{ from }}
) as ordered
where _cdc_newest_first = 1
{%- endmacro %}
