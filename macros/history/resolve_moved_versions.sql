{#
    The values that a create has not brought, because the row moved here from another key: those of the version that
    ended there, by the delete at the create's source position (resolve_moved_values says more). Asked for after a
    history has merged its batches, of all versions with such a column, since an event under an old key may change them.
    One that had moved to its old key, too, is found a step later; after a hundred steps it stays unresolved.
#}
{% macro _resolve_moved_versions() %}
    {%- if alluvium._is_history(model) and alluvium._latest_pending_batch() and not alluvium._is_up_to_date() -%}
        {%- set feed = alluvium._feed_of_node("resolve_moved_versions", model) -%}
        {%- set steps = [] -%}
        {%- set follows_moves = alluvium._follows_moves(feed) and alluvium._has_moved_rows() -%}
        {%- for step in range(100) if follows_moves and steps | length == step -%}
            {%- set moved = alluvium._moved_versions_sql(feed) -%}
            {%- if alluvium._query_rows("select 1 as moved from (" ~ moved ~ ") as moved limit 1") -%}
                {%- do run_query(alluvium._resolve_moved_versions_sql(feed, moved)) -%}
                {%- do steps.append(step) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    The versions that do not show what their old key had, with what it had. Of two deletes at one position nothing says
    which it was.
#}
{% macro _moved_versions_sql(feed) -%}
{%- set length = alluvium._source_position_length(feed) -%}
select
    {{ alluvium._column_list(feed.key + ["_cdc_position"], "moved.") | join(", ") }},
    {%- for name in alluvium._columns_of_unavailable_values(feed) %}
    {%- set column = alluvium._quoted_identifier(name) %}
    if({{ alluvium._is_moved(name, "moved") }}, old.{{ column }}, moved.{{ column }}) as {{ column }},
    {%- endfor %}
    {{ alluvium._unresolved_of_moved_version() }} as _cdc_unresolved_columns
from (
    select
        *,
        left({{ alluvium._created_position() }}, {{ length }}) as _cdc_created_position
    from {{ this }}
    where _cdc_moved_columns is not null
) as moved
left join (
    select
        *,
        left(_cdc_ended_position, {{ length }}) as _cdc_deleted_position,
        count(*) over (partition by left(_cdc_ended_position, {{ length }})) as _cdc_deleted_rows
    from {{ this }}
    where
        _cdc_ended_op = 'd'
        and left(_cdc_ended_position, {{ length }}) in (
            select left({{ alluvium._created_position() }}, {{ length }})
            from {{ this }}
            where _cdc_moved_columns is not null
        )
) as old on moved._cdc_created_position = old._cdc_deleted_position and old._cdc_deleted_rows = 1
where
    not {{ alluvium._unresolved_of_moved_version() }} <=> moved._cdc_unresolved_columns
    {%- for name in alluvium._columns_of_unavailable_values(feed) %}
    or {{ alluvium._is_resolved_otherwise(name, feed, "old", "moved") }}
    {%- endfor %}
{%- endmacro %}


{# A version without an old one, whose delete has not come, keeps all names. #}
{% macro _unresolved_of_moved_version() -%}
    {{ alluvium._array_or_null(
        "array_sort(array_except(array_union(coalesce(moved._cdc_unresolved_columns, array()), "
        "moved._cdc_moved_columns), "
        ~ "if(old._cdc_position is null, array(), array_except(moved._cdc_moved_columns, "
        "coalesce(old._cdc_unresolved_columns, array())))))"
    ) }}
{%- endmacro %}


{% macro _resolve_moved_versions_sql(feed, moved) %}
    {%- set values = {} -%}
    {%- for name in alluvium._columns_of_unavailable_values(feed) -%}
        {%- do values.update({name: alluvium._found_value(feed, name)}) -%}
    {%- endfor -%}
    {%- do values.update(
        {"_cdc_unresolved_columns": "source._cdc_unresolved_columns", "_cdc_batch": alluvium._latest_pending_batch()}
    ) -%}
    {{ return(alluvium._merge_sql(this, "(\n    " ~ moved | indent(4) ~ "\n)", {
        "on": alluvium._same_key(feed, "target", "source") ~ " and target._cdc_position = source._cdc_position",
        "set": values,
    })) }}
{% endmacro %}
