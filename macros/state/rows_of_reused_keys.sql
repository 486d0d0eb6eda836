{% macro _rows_of_reused_keys(from, feed, resets) -%}
{%- set key = alluvium._column_list(feed.key) | join(", ") -%}
select
    {{ key }},
    {{ alluvium._rows_after_events() | indent(4) }} as _cdc_rows
from (
    select
        {{ key }},
        struct(_cdc_position as position, _cdc_op as op, {{ alluvium._image_of_event(feed) }} as image) as _cdc_event,
        {{ alluvium._begins_transaction(feed) | indent(8) }} as _cdc_begins_transaction
    from (
        {{ alluvium._marked_as_reused(
                alluvium._delivered_once(alluvium._changes_after_reset(from, feed, resets) if resets else from, feed),
                feed, key
            )
            | indent(8) }}
    ) as marked
    where _cdc_is_contested
) as events
group by {{ key }}
{%- endmacro %}


{# The newest delivery of each event. #}
{% macro _delivered_once(from, feed) -%}
(
    {{ alluvium._latest_by_key(
        from | string | indent(4),
        feed.key,
        feed.columns | map(attribute="name") | list
        + ["_cdc_op", "_cdc_position", "_cdc_source_ts", "_cdc_transaction_id"],
        expressions=[alluvium._position_of_event(feed), "_cdc_op"]
    ) | indent(4) }}
) as delivered
{%- endmacro %}


{# What follows the last reset before the newest event of each key: the rows before it are gone. #}
{% macro _changes_after_reset(from, feed, resets) -%}
(
    select *
    from (
        select
            *,
            max(_cdc_position) over (
                partition by {{ alluvium._column_list(feed.key) | join(", ") }}
            ) as _cdc_newest_position
        from {{ from }}
    ) as changes
    where _cdc_position > coalesce(
        array_max(filter({{ alluvium._literal_array(resets) }}, reset -> reset < _cdc_newest_position)), ''
    )
) as after_reset
{%- endmacro %}


{# Each event with the one before it, and with whether its key, or another partition that is given, is contested. #}
{% macro _marked_as_reused(from, feed, partition) -%}
select
    *,
    max({{ alluvium._takes_current_key(feed) }}) over (partition by {{ partition }}) as _cdc_is_contested
from (
    select
        *,
        lag(struct(_cdc_op, _cdc_position, _cdc_source_ts, _cdc_transaction_id)) over (
            partition by {{ partition }} order by _cdc_position
        ) as _cdc_before
    from {{ from | string | indent(4) }}
) as followed
{%- endmacro %}


{% macro _takes_current_key(feed) %}
    {{ return(
        "_cdc_op = 'c' and _cdc_before._cdc_op <> 'd' and "
        ~ alluvium._position_of_event(feed, "_cdc_before.") ~ " <> " ~ alluvium._position_of_event(feed)
    ) }}
{% endmacro %}


{#
    Whether two events are of one transaction: by its id, and where one of them has none by what their positions say of
    it.
#}
{% macro _is_same_transaction(feed, one, other) %}
    {%- set by_position = alluvium._is_same_time(one, other) if alluvium._has_declared_order(feed)
        else alluvium._is_same_commit(feed, one, other) -%}
    {{ return("coalesce(" ~ one.id ~ " = " ~ other.id ~ ", " ~ by_position ~ ")") }}
{% endmacro %}


{#
    Changes of one transaction have its commit in common (SQL Server's LSN, Oracle's SCN), or the end of the one before
    (PostgreSQL). Without `source.sequence` PostgreSQL's have the lsn in its place, and at least the time; where they
    have no time either, nothing tells transactions apart.
#}
{% macro _is_same_commit(feed, one, other) %}
    {%- set length_of_commit = {"sqlserver": 22, "oracle": 24}.get(feed.connector) -%}
    {%- if length_of_commit -%}
        {{ return("left({0}, {2}) = left({1}, {2})".format(one.position, other.position, length_of_commit)) }}
    {%- endif -%}
    {{ return(
        "(left({0}, 20) = left({1}, 20) or left({0}, 20) = substring({0}, 22, 20) and {2})".format(
            one.position, other.position, alluvium._is_same_time(one, other)
        )
    ) }}
{% endmacro %}


{% macro _is_same_time(one, other) %}
    {{ return(one.source_ts ~ " <=> " ~ other.source_ts) }}
{% endmacro %}


{% macro _begins_transaction(feed) %}
    {{ return(
        "not "
        ~ alluvium._is_same_transaction(
            feed, alluvium._transaction_of(feed), alluvium._transaction_of(feed, "_cdc_before.")
        )
    ) }}
{% endmacro %}


{% macro _transaction_of(feed, event="") %}
    {{ return({
        "position": event ~ "_cdc_position",
        "source_ts": event ~ "_cdc_source_ts",
        "id": alluvium._transaction_key(event ~ "_cdc_transaction_id", feed.connector),
    }) }}
{% endmacro %}


{#
    The rows of a key after its events in order: a snapshot row replaces them, a create adds one, an update replaces the
    newest (of several nothing says which), a delete ends the one that it shows, or the oldest where it shows none of
    several. A commit leaves one row, the newest: the delete of another one is missing.
#}
{% macro _rows_after_events(
        events="collect_list(struct(_cdc_event as event, _cdc_begins_transaction as begins_transaction))"
    ) -%}
aggregate(
    flatten(transform(
        array_sort({{ events }}, (one, other) -> if(one.event.position < other.event.position, -1, 1)),
        following -> if(
            following.begins_transaction,
            array(
                struct(following.event.position as position, 'commit' as op, following.event.image as image),
                following.event
            ),
            array(following.event)
        )
    )),
    struct(
        filter(transform({{ events }}, following -> following.event), event -> false) as rows, false as is_undecided
    ),
    (key, event) -> struct(
        case
            when event.op = 'r' then array(event)
            when event.op = 'c' then concat(key.rows, array(event))
            when event.op = 'commit' then slice(key.rows, -1, 1)
            when event.op = 'u' then concat(slice(key.rows, 1, greatest(size(key.rows) - 1, 0)), array(event))
            when size(key.rows) < 2 then filter(key.rows, row -> false)
            else concat(
                slice(key.rows, 1, greatest({{ alluvium._row_that_ends() }}, 1) - 1),
                slice(key.rows, greatest({{ alluvium._row_that_ends() }}, 1) + 1, size(key.rows))
            )
        end as rows,
        case event.op
            -- A delete of another row than the one that an update was taken for says that it was taken rightly.
            when 'd'
                then size(key.rows) > 1
                and (
                    {{ alluvium._row_that_ends() }} = 0
                    or key.is_undecided and event.image <=> element_at(key.rows, -1).image
                )
            when 'u' then size(key.rows) > 1
            when 'c' then size(key.rows) > 0 and key.is_undecided
            when 'commit' then size(key.rows) > 0 and key.is_undecided
            else false
        end as is_undecided
    )
)
{%- endmacro %}


{% macro _row_that_ends() %}
    {{ return("array_position(transform(key.rows, row -> row.image), event.image)") }}
{% endmacro %}


{#
    The changes to order where keys may be contested: the new ones, and all of a key whose past counts. That is one of
    which an event came late, whose row is living when another one takes its key, that a delete left a living row, or
    one of whose new events lacks values; and one of which the newest event is a delete of a row that is no more, since
    a truncate or a snapshot came late.
#}
{% macro _changes_with_past(change_log, feed, batches, resets=[]) -%}
-- The row changes that this state has not applied.
new_changes as (
    {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(4) }}
),

-- Keys whose past decides which row lives.
replayed as (
    select {{ alluvium._column_list(feed.key, "news.") | join(", ") }}
    from (
        select
            {{ alluvium._column_list(feed.key) | join(", ") }},
            min(struct(_cdc_position, _cdc_op, _cdc_source_ts, _cdc_transaction_id)) as _cdc_first,
            max(_cdc_unavailable_columns is not null) as _cdc_lacks_values
        from new_changes
        group by {{ alluvium._column_list(feed.key) | join(", ") }}
    ) as news
    inner join {{ this }} as state on {{ alluvium._same_key(feed, "news", "state") }}
    where
        news._cdc_first._cdc_position <= state._cdc_position
        or not state._is_deleted and news._cdc_first._cdc_op = 'c'
        or not state._is_deleted
            and {{ alluvium._is_same_transaction(
                feed, alluvium._transaction_of(feed, "news._cdc_first."), alluvium._transaction_of(feed, "state.")
            ) }}
        -- Without id and time nothing says that it is another transaction.
        or not state._is_deleted and news._cdc_first._cdc_source_ts is null and news._cdc_first._cdc_op = 'd'
        or not state._is_deleted and state._cdc_op = 'd'
        -- Which of the rows had the values that were not sent again.
        or news._cdc_lacks_values
        {%- if resets %}
        -- One that a truncate or a snapshot has taken away might have been taken from another row.
        or news._cdc_first._cdc_position < '{{ (resets | last).position }}'
    union
    select {{ alluvium._column_list(feed.key, "target.") | join(", ") }}
    from {{ this }} as target
    where
        target._cdc_op = 'd'
        and exists(
            {{ alluvium._literal_array(resets | map(attribute="position") | list) }},
            reset -> reset < target._cdc_position
                and (
                    target._cdc_image_position < reset
                    or not (target._is_deleted and {{ alluvium._is_ended_by_its_delete() }})
                )
        )
        {%- endif %}
),

changes as (
    select *
    from new_changes as _cdc_new_changes
    where not exists (select 1 from replayed where {{ alluvium._same_key(feed, "_cdc_new_changes", "replayed") }})
    union all
    select *
    from (
        {{ alluvium._changes_of_batches(change_log, feed, {"after": 0, "until": batches.until}) | indent(8) }}
    ) as _cdc_past
    where exists (select 1 from replayed where {{ alluvium._same_key(feed, "_cdc_past", "replayed") }})
),
{%- endmacro %}


{#
    The latest event of each key with the row that lives after it: of a contested key its newest, though the event be a
    delete.
#}
{% macro _settled_rows(latest, contested, feed) -%}
select
    {{ alluvium._column_list(feed.key + alluvium._state_lineage_columns(), "latest.") | join(",\n    ") }},
    if(
        {{ alluvium._is_survivor(contested) }},
        {{ alluvium._image_of_survivor(contested, feed) | indent(8) }},
        latest._cdc_image
    ) as _cdc_image,
    {{ alluvium._is_survivor(contested) }} as _cdc_is_survivor
from {{ latest }} as latest
left join {{ contested }} as contested on {{ alluvium._same_key(feed, "latest", "contested") }}
{%- endmacro %}


{% macro _is_survivor(contested) %}
    {{ return("latest._cdc_op = 'd' and coalesce(size(" ~ contested ~ "._cdc_rows.rows), 0) > 0") }}
{% endmacro %}


{# None of its values where the images do not decide which row it is. #}
{% macro _image_of_survivor(contested, feed) -%}
{%- set survivor = "element_at(" ~ contested ~ "._cdc_rows.rows, -1)" -%}
struct(
    {%- for column in feed.columns if column.name not in feed.key %}
    {%- set name = alluvium._quoted_identifier(column.name) %}
    {%- set value = survivor ~ ".image." ~ name %}
    if(
        {{ contested }}._cdc_rows.is_undecided, null, {{ alluvium._from_comparable(value, column.data_type) }}
    ) as {{ name }},
    {%- endfor %}
    {{ survivor }}.position as _cdc_position,
    cast(null as map<string, string>) as _cdc_value_positions,
    cast(null as array<string>) as _cdc_moved_columns,
    if(
        {{ contested }}._cdc_rows.is_undecided,
        {{ alluvium._literal_array(alluvium._names_outside_key(feed)) }},
        null
    ) as _cdc_unresolved_columns
)
{%- endmacro %}


{# Not of a row that has outlived the newest delete of its key (_rows_of_reused_keys), and ended with a reset. #}
{% macro _is_ended_by_its_delete() %}
    {{ return("(target._cdc_op = 'd' and target._deleted_at <=> target._cdc_source_ts)") }}
{% endmacro %}
