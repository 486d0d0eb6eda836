{#
    The values that a create has not brought, because the row moved here from another key: they are the ones that the row
    had under the old key. The delete that is the other half of the move has the source position of the create (Debezium
    3.6.3; nothing else in the events says that the two belong together). Asked for after a state has applied its
    batches, of rows that have moved no earlier than the oldest change of these: what comes late may bring the other
    half, or a newer value under the old key. A row that had moved there, too, is followed from key to key, one step a time.
#}
{% macro resolve_moved_values() %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {%- set since = alluvium.remembered("oldest_change", this) -%}
    {%- if cdc.merge_guard and since -%}
        {%- set feed = alluvium.feed_of_node("resolve_moved_values", model) -%}
        {%- set moved_rows = alluvium.moved_rows_sql(since[:alluvium.source_position_length(feed)]) -%}
        {%- if alluvium.follows_moves(feed) and alluvium.oldest_created_position("(" ~ moved_rows ~ ")") -%}
            {%- do alluvium.follow_moved_rows(feed, moved_rows) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# A declared order does not say which two events belong together. #}
{% macro follows_moves(feed) %}
    {{ return(alluvium.columns_of_unavailable_values(feed) | length > 0 and not alluvium.has_declared_order(feed)) }}
{% endmacro %}


{% macro oldest_created_position(moved) %}
    {{ return(alluvium.query_rows("select min(created_position) as created_position from " ~ moved)[0].created_position) }}
{% endmacro %}


{#
    Each step is written down, since the next one starts from it; as views they would double the plan with every step (a chain of
    four took two minutes in Spark 3.5.7, from views and from the session's cache). A chain of more than a hundred
    keys stays unresolved.
#}
{% macro follow_moved_rows(feed, moved_rows) %}
    {%- set tables, steps = [], [] -%}
    {%- for step in range(100) if steps | length == step -%}
        {%- set moved = alluvium.write_down("moved_" ~ step, alluvium.moved_on_sql(steps[-1]) if steps else moved_rows) -%}
        {%- do tables.append(moved) -%}
        {%- set oldest = alluvium.oldest_created_position(moved) -%}
        {%- if oldest -%}
            {%- do steps.append(alluvium.write_down("found_" ~ step, alluvium.values_under_old_keys(feed, moved, oldest))) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do run_query(alluvium.resolve_moved_values_sql(feed, steps)) -%}
    {%- for table in tables + steps -%}
        {%- do run_query("drop table " ~ table) -%}
    {%- endfor -%}
{% endmacro %}


{#
    A table beside the state's, for as long as its post-hook runs; one that a killed run has left is replaced. Created before it is
    filled: of a `create table as` that is killed the files stay without a table, and Spark refuses to create one there again.
#}
{% macro write_down(name, query) %}
    {%- set table = api.Relation.create(schema=this.schema, identifier=this.identifier ~ "__" ~ name) -%}
    {#- Spark describes a struct without the quotes that its fields may need; the source's YAML has them. -#}
    {%- set columns, declared = [], {} -%}
    {%- for column in alluvium.feed_of_node("write_down", model).columns -%}
        {%- do declared.update({column.name: column.data_type}) -%}
    {%- endfor -%}
    {%- for column in alluvium.query_rows("describe query\n" ~ query) -%}
        {%- do columns.append(alluvium.quoted_identifier(column.col_name) ~ " " ~ declared.get(column.col_name, column.data_type)) -%}
    {%- endfor -%}
    {%- do run_query("drop table if exists " ~ table) -%}
    {%- do run_query("create table " ~ table ~ " (" ~ columns | join(", ") ~ ") using parquet") -%}
    {%- do run_query("insert into " ~ table ~ "\n" ~ query) -%}
    {{ return(table) }}
{% endmacro %}


{# The first model that a state reads. #}
{% macro change_log_of_model() %}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set node = graph.nodes[parent] -%}
        {{ return(api.Relation.create(schema=node.schema, identifier=node.alias)) }}
    {%- endfor -%}
{% endmacro %}


{% macro moved_rows_sql(since) -%}
select
    *,
    {{ alluvium.created_position() }} as created_position
from {{ this }}
where
    _cdc_moved_columns is not null
    and {{ alluvium.created_position() }} >= '{{ since }}'
{%- endmacro %}


{# Of the create that has not brought a value. #}
{% macro created_position() %}
    {{ return("array_max(transform(_cdc_moved_columns, name -> coalesce(_cdc_value_positions[name], _cdc_image_position)))") }}
{% endmacro %}


{# Those that had moved to their old key, too. #}
{% macro moved_on_sql(found) -%}
select
    *
from {{ found }}
where
    _cdc_moved_columns is not null
    and created_position is not null
{%- endmacro %}


{# Rows to resolve with what they had under their old keys; without a row where the other half of the move is not there yet. #}
{% macro values_under_old_keys(feed, moved, oldest) -%}
{%- set held = alluvium.columns_of_unavailable_values(feed) -%}
with
halves as (
    {{ alluvium.halves_of_moves(feed, moved, oldest) | indent(4) }}
),

-- Rows that have moved on and left nothing else under their old key: the state has their last values.
in_state as (
    {{ alluvium.values_left_in_state(feed, held) | indent(4) }}
),

-- The others: the log has their events.
events_before as (
    {{ alluvium.events_under_old_keys(feed, held) | indent(4) }}
),

images_before as (
    {{ alluvium.row_images("events_before", alluvium.feed_of_columns(feed, held)) | indent(4) }}
),

in_log as (
    {{ alluvium.latest_by_key("images_before", feed.key, feed.key + ["_cdc_op", "_cdc_image", "wanted"]) | indent(4) }}
),

found as (
    select *
    from in_state
    union all
    select
        {{ (alluvium.column_list(feed.key) + alluvium.column_list(held, "_cdc_image.")) | join(", ") }},
        {{ alluvium.image_lineage("_cdc_image") }},
        wanted
    from in_log
    where _cdc_op <> 'd'
)

select
    {{ alluvium.column_list(feed.key + held) | join(", ") }},
    _cdc_image_position,
    _cdc_value_positions,
    array_except(wanted, coalesce(_cdc_unresolved_columns, array())) as found_columns,
    {{ alluvium.array_or_null("array_intersect(wanted, coalesce(_cdc_moved_columns, array()))") }} as _cdc_moved_columns,
    {{ alluvium.created_position() }} as created_position
from found
{%- endmacro %}


{% macro image_lineage(image) %}
    {{ return(
        image ~ "._cdc_position as _cdc_image_position, " ~ image ~ "._cdc_value_positions, "
        ~ image ~ "._cdc_moved_columns, " ~ image ~ "._cdc_unresolved_columns"
    ) }}
{% endmacro %}


{% macro halves_of_moves(feed, moved, oldest) -%}
{%- set length = alluvium.source_position_length(feed) -%}
select
    {{ alluvium.column_list(feed.key, "moved.") | join(", ") }},
    moved.created_position,
    moved._cdc_moved_columns as wanted,
    struct({{ alluvium.column_list(feed.key, "deleted.") | join(", ") }}) as old_key
from {{ moved }} as moved
inner join {{ alluvium.change_log_of_model() }} as deleted on left(moved.created_position, {{ length }}) = left(deleted._cdc_position, {{ length }})
where
    deleted._cdc_kind = 'change'
    and deleted._cdc_op = 'd'
    and deleted._cdc_position >= '{{ oldest[:length] }}'
{%- endmacro %}


{% macro values_left_in_state(feed, held) -%}
{%- set length = alluvium.source_position_length(feed) -%}
select
    {{ (alluvium.column_list(feed.key, "halves.") + alluvium.column_list(held, "state.")) | join(", ") }},
    state._cdc_image_position,
    state._cdc_value_positions,
    state._cdc_moved_columns,
    if(state._cdc_moved_columns is null, state._cdc_unresolved_columns, array_union(state._cdc_moved_columns, coalesce(state._cdc_unresolved_columns, array()))) as _cdc_unresolved_columns,
    halves.wanted
from halves
inner join {{ this }} as state on {{ alluvium.same_key(feed, "halves.old_key", "state") }}
where
    state._cdc_op = 'd'
    and state._cdc_image_position is not null
    and left(state._cdc_position, {{ length }}) = left(halves.created_position, {{ length }})
    -- The row may have been another one, whose create is not there.
    and not exists (
        select 1
        from {{ alluvium.change_log_of_model() }} as earlier
        where
            {{ alluvium.same_key(feed, "halves.old_key", "earlier") }}
            and earlier._cdc_kind = 'change'
            and earlier._cdc_op = 'd'
            and earlier._cdc_position > state._cdc_image_position
            and left(earlier._cdc_position, {{ length }}) < left(halves.created_position, {{ length }})
    )
{%- endmacro %}


{# Under the new key, so that they are folded into its image. #}
{% macro events_under_old_keys(feed, held) -%}
{%- set length = alluvium.source_position_length(feed) -%}
select
    {{ (alluvium.column_list(feed.key, "halves.") + alluvium.column_list(held, "event.")) | join(", ") }},
    event._cdc_op,
    event._cdc_position,
    event._cdc_unavailable_columns,
    halves.wanted
from halves
inner join {{ alluvium.change_log_of_model() }} as event on {{ alluvium.same_key(feed, "halves.old_key", "event") }}
left anti join in_state on {{ alluvium.same_key(feed, "in_state", "halves") }}
where
    event._cdc_kind = 'change'
    and left(event._cdc_position, {{ length }}) < left(halves.created_position, {{ length }})
{%- endmacro %}


{# A column is found in one step of the chain at most; what no step has found is not known. #}
{% macro resolve_moved_values_sql(feed, steps) -%}
{%- set held = alluvium.columns_of_unavailable_values(feed) -%}
merge into {{ this }} as target
using (
    select
        {{ alluvium.column_list(feed.key) | join(", ") }},
        {%- for name in held %}
        {%- set is_found = "array_contains(found_columns, " ~ alluvium.string_literal(name) ~ ")" %}
        max_by({{ alluvium.quoted_identifier(name) }}, {{ is_found }}) filter (where {{ is_found }}) as {{ alluvium.quoted_identifier(name) }},
        {%- endfor %}
        flatten(collect_list(found_columns)) as found_columns
    from (
        {%- for step in steps %}
        {{ "union all " if not loop.first }}select * from {{ step }}
        {%- endfor %}
    ) as found
    group by {{ alluvium.column_list(feed.key) | join(", ") }}
) as source
on {{ alluvium.same_key(feed, "target", "source") }}
when matched
    and (
        not {{ alluvium.unresolved_after_moves() }} <=> target._cdc_unresolved_columns
        {%- for name in held %}
        or {{ alluvium.is_resolved_otherwise(name, feed) }}
        {%- endfor %}
    )
    then update set
        {%- for name in held %}
        {%- set column = alluvium.quoted_identifier(name) %}
        {{ column }} = if({{ alluvium.is_moved(name) }}, source.{{ column }}, target.{{ column }}),
        {%- endfor %}
        _cdc_unresolved_columns = {{ alluvium.unresolved_after_moves() }},
        _cdc_batch = {{ alluvium.newest_pending_batch() }}
{%- endmacro %}


{% macro unresolved_after_moves() -%}
    {{ alluvium.array_or_null(
        "array_except(array_union(coalesce(target._cdc_unresolved_columns, array()), target._cdc_moved_columns), source.found_columns)"
    ) }}
{%- endmacro %}


{% macro is_moved(name, row="target") %}
    {{ return("array_contains(" ~ row ~ "._cdc_moved_columns, " ~ alluvium.string_literal(name) ~ ")") }}
{% endmacro %}


{# Spark does not compare maps. #}
{% macro is_resolved_otherwise(name, feed, source="source", target="target") %}
    {%- set column = alluvium.quoted_identifier(name) -%}
    {%- set is_map = alluvium.column_of(feed, name).data_type.startswith("map") -%}
    {%- set compared = "not map_entries({1}.{0}) <=> map_entries({2}.{0})" if is_map else "not {1}.{0} <=> {2}.{0}" -%}
    {{ return(alluvium.is_moved(name, target) ~ " and " ~ compared.format(column, source, target)) }}
{% endmacro %}


{# The same feed with its key and some columns. #}
{% macro feed_of_columns(feed, names) %}
    {%- set columns = [] -%}
    {%- for column in feed.columns if column.name in feed.key + names -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- set chosen = {} -%}
    {%- do chosen.update(feed) -%}
    {%- do chosen.update({"columns": columns}) -%}
    {{ return(chosen) }}
{% endmacro %}
