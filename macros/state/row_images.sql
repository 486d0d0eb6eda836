{#
    Each event with the newest image of its key's row up to it: a delete brings none. `_cdc_image` is a struct of the
    columns outside the key and of where they are from: `_cdc_position`, the event's; `_cdc_value_positions`, for a
    column whose value is from an earlier event, because the source has not sent it again, that event's;
    `_cdc_moved_columns`, those that a create has not brought, because the row moved here from another key;
    `_cdc_unresolved_columns`, all whose value is not known from these events. The last three are NULL where they would
    be empty. A column's value lasts until its row ends, by a delete or by a create that does not bring it. `from` has
    row changes of a change log. With `of_latest` only the newest event of each key has the right image: where no value
    is looked for in other events, Spark then sorts them once, for this and for _latest_by_key.
#}
{% macro _row_images(from, feed, of_latest=false) -%}
{#- Where each of the events has its values, as in most batches, none is looked for in others. -#}
{%- set is_asked = feed.filled_columns is defined and not alluvium._has_reused_keys(feed) -%}
{%- set held = feed.filled_columns if is_asked else alluvium._columns_of_unavailable_values(feed) -%}
{%- set image = [] -%}
{%- for name in alluvium._names_outside_key(feed) -%}
    {%- set column = alluvium._quoted_identifier(name) -%}
    {%- do image.append(alluvium._filled_value(name) ~ ".value as " ~ column if name in held else column) -%}
{%- endfor -%}
{%- do image.append("_cdc_position") -%}
{%- do image.append(alluvium._positions_of_filled_values(held) ~ " as _cdc_value_positions") -%}
{%- do image.append(alluvium._unavailable_columns_where(held, "is_moved") ~ " as _cdc_moved_columns") -%}
{#- A NULL that a row's feed ignores is no value that its source had: where none has come, NULL is the value. -#}
{%- set unresolvable = held if alluvium._has_unavailable_values(feed) else [] -%}
{%- do image.append(
        alluvium._unavailable_columns_where(unresolvable, "is_known is not true") ~ " as _cdc_unresolved_columns"
    ) -%}
{%- set is_sorted_once = of_latest and not held -%}
select
    *,
    {{ "first_value" if is_sorted_once else "last_value" }}(if(_cdc_op = 'd', null, struct(
        {{ image | join(",\n        ") }}
    )), true) over (
        {%- if is_sorted_once %}
        partition by {{ alluvium._column_list(feed.key) | join(", ") }}
        order by _cdc_position desc rows between unbounded preceding and unbounded following
        {%- else %}
        {{ alluvium._events_of_key_up_to_this(feed) | indent(8) }}
        {%- endif %}
    ) as _cdc_image
from {% if held %}(
    {{ alluvium._with_filled_values(from, feed, held) | indent(4) }}
) as held{% else %}{{ from }}{% endif %}
{%- endmacro %}


{% macro _events_of_key_up_to_this(feed) -%}
partition by {{ alluvium._column_list(feed.key) | join(", ") }}
order by _cdc_position rows between unbounded preceding and current row
{%- endmacro %}


{# Each event with what its row holds in the columns that it may not have sent, and since when. #}
{% macro _with_filled_values(from, feed, names) -%}
select
    *,
    {%- for name in names %}
    last_value({{ alluvium._value_in_event(name) }}, true) over (
        {{ alluvium._events_of_key_up_to_this(feed) | indent(8) }}
    ) as {{ alluvium._filled_value(name) }}{{ "," if not loop.last }}
    {%- endfor %}
from {{ from }}
{%- endmacro %}


{#
    Nothing where an update leaves the value as it was; one that was stored elsewhere may be another. In the log the
    value is NULL where the source has not sent it.
#}
{% macro _value_in_event(name) -%}
    {%- set is_unavailable =
        "coalesce(array_contains(_cdc_unavailable_columns, " ~ alluvium._string_literal(name) ~ "), false)" -%}
    {%- set is_elsewhere =
        "coalesce(exists(_cdc_unavailable_columns, name -> startswith(name, " ~ alluvium._string_literal(name ~ ": ")
        ~ ")), false)" -%}
    if({{ is_unavailable }} and _cdc_op = 'u' and not {{ is_elsewhere }}, null, struct(
        if(_cdc_op = 'd', null, {{ alluvium._quoted_identifier(name) }}) as value,
        _cdc_position as position,
        _cdc_op <> 'd' and not {{ is_unavailable }} as is_known,
        _cdc_op = 'c' and {{ is_unavailable }} and not {{ is_elsewhere }} as is_moved
    ))
{%- endmacro %}


{% macro _filled_value(name) %}
    {{ return(alluvium._quoted_identifier("_cdc_filled__" ~ name)) }}
{% endmacro %}


{# An empty text for a column of which these events say nothing. #}
{% macro _positions_of_filled_values(names) -%}
    {%- if not names -%}
        {{ return("cast(null as map<string, string>)") }}
    {%- endif -%}
    {%- set entries = [] -%}
    {%- for name in names -%}
        {%- do entries.append(
                alluvium._string_literal(name) ~ ", coalesce(" ~ alluvium._filled_value(name) ~ ".position, '')"
            ) -%}
    {%- endfor -%}
    {{ return(
        alluvium._map_or_null(
            "map_filter(map(" ~ entries | join(", ") ~ "), (name, position) -> position <> _cdc_position)"
        )
    ) }}
{%- endmacro %}


{% macro _unavailable_columns_where(names, condition) %}
    {%- if not names -%}
        {{ return("cast(null as array<string>)") }}
    {%- endif -%}
    {%- set conditions = {} -%}
    {%- for name in names -%}
        {%- do conditions.update({name: alluvium._filled_value(name) ~ "." ~ condition}) -%}
    {%- endfor -%}
    {{ return(alluvium._array_or_null(alluvium._names_where(conditions))) }}
{% endmacro %}
