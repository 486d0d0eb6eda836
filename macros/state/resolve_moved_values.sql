{#
    The values that a create has not brought, because the row moved here from another key: they are the ones that the
    row had under the old key. The delete that is the other half of the move has the source position of the create
    (Debezium 3.6.3; nothing else in the events says that the two belong together). Asked for after a state has applied
    its batches, of rows that have moved no earlier than the oldest change of these: what comes late may bring the other
    half, a newer value under the old key, or the delete of the row whose value was taken for the moved one's: each row
    is looked up anew, and what is not found any more is not known any more. A row that had moved there, too, is
    followed from key to key, one step a time.
#}
{% macro _resolve_moved_values() %}
    {%- set since = alluvium._remembered("oldest_change", this) -%}
    {%- if alluvium._is_state(model) and since -%}
        {%- set feed = alluvium._feed_of_node("resolve_moved_values", model) -%}
        {%- set may_have_moved = alluvium._follows_moves(feed) and alluvium._columns_left_out(feed) -%}
        {%- if may_have_moved and alluvium._has_moved_rows() -%}
            {%- do alluvium._follow_moved_rows(
                    feed, alluvium._moved_rows_sql(since[:alluvium._source_position_length(feed)])
                ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Few tables have one: asked first, because this costs a fifth of what the queries for the moves themselves do. #}
{% macro _has_moved_rows() %}
    {{ return(
        alluvium._query_rows("select 1 as moved from " ~ this ~ " where _cdc_moved_columns is not null limit 1")
        | length > 0
    ) }}
{% endmacro %}


{#
    A declared order does not say which two events belong together; where keys are contested, the values would be gone
    again with the next event of the key.
#}
{% macro _follows_moves(feed) %}
    {{ return(
        alluvium._columns_of_unavailable_values(feed) | length > 0
        and not alluvium._has_declared_order(feed)
        and not alluvium._has_reused_keys(feed)
    ) }}
{% endmacro %}


{% macro _oldest_created_position(moved) %}
    {{ return(
        alluvium._query_rows("select min(_cdc_created_position) as created_position from " ~ moved)[0].created_position
    ) }}
{% endmacro %}


{#
    Each step is written down, since the next one starts from it; as views they would double the plan with every step (a
    chain of four took two minutes in Spark 3.5.7, from views and from the session's cache). A chain of more than a
    hundred keys stays unresolved.
#}
{% macro _follow_moved_rows(feed, moved_rows) %}
    {%- set moves, found = alluvium._beside_model("moves"), alluvium._beside_model("moved_values") -%}
    {%- set steps = [] -%}
    {%- for step in range(100) if steps | length == step -%}
        {%- set moved = "(\n" ~ (alluvium._moved_on_sql(found, step - 1) if step else moved_rows) ~ "\n)" -%}
        {%- set oldest = alluvium._oldest_created_position(moved) -%}
        {%- if oldest -%}
            {%- if not step -%}
                {%- do alluvium._create_empty(moves, alluvium._columns_of_moves(feed)) -%}
                {%- do alluvium._create_empty(found, alluvium._columns_of_moved_values(feed)) -%}
            {%- endif -%}
            {%- do run_query("insert into " ~ moves ~ "\n" ~ alluvium._moves_sql(feed, moved, oldest, step)) -%}
            {%- do run_query("insert into " ~ found ~ "\n" ~ alluvium._values_left_in_state_sql(feed, moves, step)) -%}
            {%- if alluvium._query_rows(
                "select 1 as missing from " ~ alluvium._moves_without_values(feed, moves, found, step) ~ " limit 1"
            ) -%}
                {%- do
                    run_query("insert into " ~ found ~ "\n" ~ alluvium._values_in_log_sql(feed, moves, found, step)) -%}
            {%- endif -%}
            {%- do steps.append(step) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if steps -%}
        {%- do run_query(alluvium._resolve_moved_values_sql(feed, moved_rows, found)) -%}
        {%- do run_query("drop table " ~ moves) -%}
        {%- do run_query("drop table " ~ found) -%}
    {%- endif -%}
{% endmacro %}


{# A table for as long as the post-hook of a state runs. #}
{% macro _beside_model(name) %}
    {{ return(alluvium._beside_table(this, name)) }}
{% endmacro %}


{# A row for each delete that may be the other half of a move, by the step of the chain. #}
{% macro _columns_of_moves(feed) %}
    {%- set old_key = [] -%}
    {%- for name in feed.key -%}
        {%- do old_key.append("_cdc_old_key_" ~ loop.index ~ " " ~ alluvium._column_of(feed, name).data_type) -%}
    {%- endfor -%}
    {{ return(alluvium._columns_with_types(feed, feed.key) + old_key + [
        "_cdc_created_position string",
        "_cdc_wanted_columns array<string>",
        "_cdc_step int",
    ]) }}
{% endmacro %}


{# Rows with what they had under their old key; `_cdc_found_columns` are those of their columns that are known there. #}
{% macro _columns_of_moved_values(feed) %}
    {{ return(alluvium._columns_with_types(feed, feed.key + alluvium._columns_of_unavailable_values(feed)) + [
        "_cdc_image_position string",
        "_cdc_value_positions map<string, string>",
        "_cdc_found_columns array<string>",
        "_cdc_moved_columns array<string>",
        "_cdc_created_position string",
        "_cdc_step int",
    ]) }}
{% endmacro %}


{% macro _columns_with_types(feed, names) %}
    {%- set columns = [] -%}
    {%- for name in names -%}
        {%- do columns.append(alluvium._quoted_identifier(name) ~ " " ~ alluvium._column_of(feed, name).data_type) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{% macro _moved_rows_sql(since) -%}
select
    *,
    {{ alluvium._created_position() }} as _cdc_created_position
from {{ this }}
where
    _cdc_moved_columns is not null
    and {{ alluvium._created_position() }} >= '{{ since }}'
{%- endmacro %}


{# Of the create that has not brought a value. #}
{% macro _created_position() %}
    {{ return(
        "array_max(transform(_cdc_moved_columns, name -> coalesce(_cdc_value_positions[name], _cdc_image_position)))"
    ) }}
{% endmacro %}


{# Those that had moved to their old key, too. #}
{% macro _moved_on_sql(found, step) -%}
select
    *
from {{ found }}
where
    _cdc_step = {{ step }}
    and _cdc_moved_columns is not null
    and _cdc_created_position is not null
{%- endmacro %}


{#
    No row where the other half of the move is not there yet, and none where several rows were deleted at its position:
    nothing says which it was.
#}
{% macro _moves_sql(feed, moved, oldest, step) -%}
{%- set length = alluvium._source_position_length(feed) -%}
{%- set old_key = [] -%}
{%- for name in feed.key -%}
    {%- do old_key.append("deleted." ~ alluvium._quoted_identifier(name) ~ " as _cdc_old_key_" ~ loop.index) -%}
{%- endfor -%}
select
    {{ alluvium._column_list(feed.key, "moved.") | join(", ") }},
    {{ old_key | join(",\n    ") }},
    moved._cdc_created_position,
    moved._cdc_moved_columns as _cdc_wanted_columns,
    {{ step }} as _cdc_step
from {{ moved }} as moved
inner join (
    select
        *,
        count(*) over (partition by _cdc_deleted_position) as _cdc_deleted_rows
    from (
        select distinct
            {{ alluvium._column_list(feed.key) | join(", ") }},
            left(_cdc_position, {{ length }}) as _cdc_deleted_position
        from {{ alluvium._change_log_of_model() }}
        where
            _cdc_kind = 'change'
            and _cdc_op = 'd'
            and _cdc_position >= '{{ oldest[:length] }}'
    ) as _cdc_deletes
) as deleted on left(moved._cdc_created_position, {{ length }}) = deleted._cdc_deleted_position
where deleted._cdc_deleted_rows = 1
{%- endmacro %}


{# Of rows that have moved on and left nothing else under their old key: the state has their last values. #}
{% macro _values_left_in_state_sql(feed, moves, step) -%}
{%- set length = alluvium._source_position_length(feed) -%}
{%- set held = alluvium._columns_of_unavailable_values(feed) -%}
with
found as (
    select
        {{
            (alluvium._column_list(feed.key, "_cdc_moves.") + alluvium._column_list(held, "_cdc_state.")) | join(", ")
        }},
        _cdc_state._cdc_image_position,
        _cdc_state._cdc_value_positions,
        _cdc_state._cdc_moved_columns,
        if(
            _cdc_state._cdc_moved_columns is null,
            _cdc_state._cdc_unresolved_columns,
            array_union(_cdc_state._cdc_moved_columns, coalesce(_cdc_state._cdc_unresolved_columns, array()))
        ) as _cdc_unresolved_columns,
        _cdc_moves._cdc_wanted_columns
    from {{ alluvium._moves_of_step(feed, moves, step) | indent(4) }} as _cdc_moves
    inner join {{ this }} as _cdc_state on {{ alluvium._same_key(feed, "_cdc_moves._cdc_old_key", "_cdc_state") }}
    where
        _cdc_state._cdc_op = 'd'
        and _cdc_state._cdc_image_position is not null
        and left(_cdc_state._cdc_position, {{ length }}) = left(_cdc_moves._cdc_created_position, {{ length }})
        -- The row may have been another one, whose create is not there.
        and not exists (
            select 1
            from {{ alluvium._change_log_of_model() }} as earlier
            where
                {{ alluvium._same_key(feed, "_cdc_moves._cdc_old_key", "earlier") }}
                and earlier._cdc_kind = 'change'
                and earlier._cdc_op = 'd'
                and earlier._cdc_position > {{
                    alluvium._oldest_value_position("_cdc_state", "_cdc_moves._cdc_wanted_columns")
                }}
                and left(earlier._cdc_position, {{ length }}) < left(_cdc_moves._cdc_created_position, {{ length }})
        )
)

{{ alluvium._moved_values_of("found", feed, step) }}
{%- endmacro %}


{#
    Of the values of a state's row: an image that has come late may have none of its own, and what it leaves is older
    than it is.
#}
{% macro _oldest_value_position(row, names) %}
    {{ return("array_min(transform(" ~ names ~ ", name -> " ~ alluvium._value_position(row, "name") ~ "))") }}
{% endmacro %}


{# The values of the others: the log has their events, which are folded into an image under the new key. #}
{% macro _values_in_log_sql(feed, moves, found, step) -%}
{%- set length = alluvium._source_position_length(feed) -%}
{%- set held = alluvium._columns_of_unavailable_values(feed) -%}
with
events_before as (
    select
        {{ (alluvium._column_list(feed.key, "moves.") + alluvium._column_list(held, "event.")) | join(", ") }},
        event._cdc_op,
        event._cdc_position,
        event._cdc_unavailable_columns,
        moves._cdc_wanted_columns
    from {{ alluvium._moves_without_values(feed, moves, found, step) | indent(4) }} as moves
    inner join {{ alluvium._change_log_of_model() }} as event
        on {{ alluvium._same_key(feed, "moves._cdc_old_key", "event") }}
    where
        event._cdc_kind = 'change'
        and left(event._cdc_position, {{ length }}) < left(moves._cdc_created_position, {{ length }})
),

images_before as (
    {{ alluvium._row_images("events_before", alluvium._feed_of_columns(feed, held)) | indent(4) }}
),

newest_images as (
    {{ alluvium._latest_by_key("images_before", feed.key, feed.key + ["_cdc_op", "_cdc_image", "_cdc_wanted_columns"])
        | indent(4) }}
),

found as (
    select
        {{ (alluvium._column_list(feed.key) + alluvium._column_list(held, "_cdc_image.")) | join(", ") }},
        _cdc_image._cdc_position as _cdc_image_position,
        _cdc_image._cdc_value_positions,
        _cdc_image._cdc_moved_columns,
        _cdc_image._cdc_unresolved_columns,
        _cdc_wanted_columns
    from newest_images
    where _cdc_op <> 'd'
)

{{ alluvium._moved_values_of("found", feed, step) }}
{%- endmacro %}


{# With the old key as one column. As one in the table, Spark 3.5.7 would refuse a name with a colon in it. #}
{% macro _moves_of_step(feed, moves, step) -%}
{%- set old_key = [] -%}
{%- for name in feed.key -%}
    {%- do old_key.append("_cdc_old_key_" ~ loop.index ~ " as " ~ alluvium._quoted_identifier(name)) -%}
{%- endfor -%}
(
    select
        *,
        struct({{ old_key | join(", ") }}) as _cdc_old_key
    from {{ moves }}
    where _cdc_step = {{ step }}
)
{%- endmacro %}


{% macro _moves_without_values(feed, moves, found, step) -%}
(
    select moves.*
    from {{ alluvium._moves_of_step(feed, moves, step) | indent(4) }} as moves
    left anti join {{ found }} as found
        on {{ alluvium._same_key(feed, "moves", "found") }} and found._cdc_step = {{ step }}
)
{%- endmacro %}


{% macro _moved_values_of(from, feed, step) -%}
select
    {{ alluvium._column_list(feed.key + alluvium._columns_of_unavailable_values(feed)) | join(", ") }},
    _cdc_image_position,
    _cdc_value_positions,
    array_except(_cdc_wanted_columns, coalesce(_cdc_unresolved_columns, array())) as _cdc_found_columns,
    {{ alluvium._array_or_null("array_intersect(_cdc_wanted_columns, coalesce(_cdc_moved_columns, array()))") }}
    as _cdc_moved_columns,
    {{ alluvium._created_position() }} as _cdc_created_position,
    {{ step }} as _cdc_step
from {{ from }}
{%- endmacro %}


{# A column is found in one step of the chain at most; what no step has found is not known. #}
{% macro _resolve_moved_values_sql(feed, moved_rows, found) %}
    {%- set held = alluvium._columns_of_unavailable_values(feed) -%}
    {%- set values = {} -%}
    {%- set conditions = ["not " ~ alluvium._unresolved_after_moves() ~ " <=> target._cdc_unresolved_columns"] -%}
    {%- for name in held -%}
        {%- set column = alluvium._quoted_identifier(name) -%}
        {%- do values.update(
            {
                name: "if(" ~ alluvium._is_moved(name) ~ ", " ~ alluvium._found_value(feed, name) ~ ", target." ~ column
                ~ ")"
            }
        ) -%}
        {%- do conditions.append(alluvium._is_resolved_otherwise(name, feed)) -%}
    {%- endfor -%}
    {%- do values.update(
        {"_cdc_unresolved_columns": alluvium._unresolved_after_moves(), "_cdc_batch": alluvium._latest_pending_batch()}
    ) -%}
    {{ return(alluvium._merge_sql(this, alluvium._found_values_sql(feed, moved_rows, found, held), {
        "on": alluvium._same_key(feed, "target", "source"),
        "update_when": conditions | join("\nor "),
        "set": values,
    })) }}
{% endmacro %}


{# Of every row that was looked up, also where nothing is found. #}
{% macro _found_values_sql(feed, moved_rows, found, held) -%}
(
    select
        {{ alluvium._column_list(feed.key, "moved.") | join(", ") }},
        {%- for name in held %}
        {%- set is_found = "array_contains(found._cdc_found_columns, " ~ alluvium._string_literal(name) ~ ")" %}
        max_by(found.{{ alluvium._quoted_identifier(name) }}, {{ is_found }})
            filter (where {{ is_found }}) as {{ alluvium._quoted_identifier(name) }},
        {%- endfor %}
        flatten(collect_list(found._cdc_found_columns)) as _cdc_found_columns
    from (
        {{ moved_rows | indent(8) }}
    ) as moved
    left join {{ found }} as found on {{ alluvium._same_key(feed, "moved", "found") }}
    group by {{ alluvium._column_list(feed.key, "moved.") | join(", ") }}
)
{%- endmacro %}


{% macro _unresolved_after_moves() -%}
    {{ alluvium._array_or_null(
        "array_except(array_union(coalesce(target._cdc_unresolved_columns, array()), target._cdc_moved_columns), "
        "source._cdc_found_columns)"
    ) }}
{%- endmacro %}


{% macro _is_moved(name, row="target") %}
    {{ return("array_contains(" ~ row ~ "._cdc_moved_columns, " ~ alluvium._string_literal(name) ~ ")") }}
{% endmacro %}


{% macro _is_resolved_otherwise(name, feed, source="source", target="target") %}
    {%- set column = alluvium._quoted_identifier(name) -%}
    {%- set type = alluvium._column_of(feed, name).data_type -%}
    {{ return(
        alluvium._is_moved(name, target) ~ " and not " ~ alluvium._comparable(source ~ "." ~ column, type) ~ " <=> "
        ~ alluvium._comparable(target ~ "." ~ column, type)
    ) }}
{% endmacro %}


{# The same feed with its key and some columns. #}
{% macro _feed_of_columns(feed, names) %}
    {%- set columns = [] -%}
    {%- for column in feed.columns if column.name in feed.key + names -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- set chosen = {} -%}
    {%- do chosen.update(feed) -%}
    {%- do chosen.update({"columns": columns}) -%}
    {{ return(chosen) }}
{% endmacro %}
