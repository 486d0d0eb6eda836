{#
    Whether the new events bear out the declared key, before they are merged: a create of a key that has a row, and,
    behind a reset (a complete snapshot, a truncate), an update or a delete of a key that nothing has named. Either the
    key is another one, or an event between is missing. What is found is left for record_applied_batches and the test
    key_holds; `on_key_conflict: fail` stops the model. Rows have no creates, and where a file has its events in another
    order than the source, the missing one may be in a file that is to come.
#}
{% macro _check_key(change_log, feed, batches, resets, news) %}
    {%- set knows_keys = news.other_count and alluvium._knows_all_keys(change_log, feed, batches, resets) -%}
    {%- set found =
        alluvium._query_rows(alluvium._key_conflicts_sql(change_log, feed, batches, resets, news, knows_keys))[0]
        if news.create_count or knows_keys else none -%}
    {%- if found and found.conflict_count and not alluvium._query_rows(
        alluvium._late_line_sql(change_log, feed, batches)
    ) -%}
        {%- set said = alluvium._key_conflict_message(feed, found) -%}
        {%- if feed.on_key_conflict == "fail" -%}
            {{ exceptions.raise_compiler_error(said) }}
        {%- endif -%}
        {%- do alluvium._warn(said) -%}
        {%- do alluvium._remember("key_conflicts", this, found.conflict_count) -%}
        {%- do alluvium._remember("key_conflict", this, said) -%}
    {%- endif -%}
{% endmacro %}


{# Behind a reset all current rows are known, unless snapshots are partial, a line was rejected, or keys were purged. #}
{% macro _knows_all_keys(change_log, feed, batches, resets) %}
    {{ return(
        feed.snapshots == "complete"
        and alluvium._positions_of_resets(resets) | length > 0
        and load_relation(alluvium._purge_ledger()) is none
        and not alluvium._query_rows(alluvium._rejected_line_sql(change_log, batches))
    ) }}
{% endmacro %}


{#
    A create that another delete of its key goes with in one transaction is a swap of keys. Snapshots of MongoDB and SQL
    Server may have rows that the stream creates later.
#}
{% macro _key_conflicts_sql(change_log, feed, batches, resets, news, knows_keys) -%}
{%- set key = alluvium._column_list(feed.key) -%}
{%- set resets = alluvium._positions_of_resets(resets) -%}
{%- set is_after_reset = "exists(" ~ alluvium._literal_array(resets) ~ ", reset -> reset <= _cdc_position{})" -%}
{{ alluvium._preceded_events(change_log, feed, batches, news, ["c", "u", "d"] if knows_keys else ["c"]) }},

judged as (
    select
        *,
        _cdc_op = 'c'
        and not is_moved
        and before.is_current
        and before._cdc_position < _cdc_position
        and {{ alluvium._position_of_event(feed, "before.") }} <> {{ alluvium._position_of_event(feed) }}
        {%- if feed.connector in ["mongodb", "sqlserver"] %}
        and before._cdc_op <> 'r'
        {%- endif %}
        {%- if resets %}
        and not {{ is_after_reset.format(" and reset > before._cdc_position") }}
        {%- endif %} as is_second,
        _cdc_op in ('u', 'd')
        and before is null
        and not is_created
        and {{ is_after_reset.format("") if knows_keys else "false" }} as is_unnamed
    from preceded
)

select
    count(*) as conflict_count,
    count_if(is_second) as create_count,
    min_by(to_json(struct({{ key | join(", ") }})), _cdc_position) as key_values,
    min_by(_cdc_op, _cdc_position) as op,
    min_by(concat(_cdc_file_path, ' line ', _cdc_line), _cdc_position) as place,
    min_by(concat(before._cdc_file_path, ' line ', before._cdc_line), _cdc_position) as place_before
from judged
where is_second or is_unnamed
{%- endmacro %}


{# A row if a file of the batches has an event before an older one. #}
{% macro _late_line_sql(change_log, feed, batches) -%}
select 1 as is_late
from (
    select
        lag(_cdc_position) over (partition by _cdc_file_path, _cdc_file_length order by _cdc_line)
        > _cdc_position as is_late
    from (
        {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(8) }}
        and _cdc_op <> 'r'
    ) as changes
) as lines
where is_late
limit 1
{%- endmacro %}


{#
    Each new event of the operations with the one before it: of these events, or the latest one that the state has of
    its key. Few events have to be looked up there: those that have none before them here.
#}
{% macro _preceded_events(change_log, feed, batches, news, ops) -%}
{%- set key = alluvium._column_list(feed.key) -%}
{%- set event = "struct(_cdc_op, _cdc_position, {} as is_current, _cdc_file_path, _cdc_line)" -%}
{%- set transaction =
    "coalesce(" ~ alluvium._transaction_key("_cdc_transaction_id", feed.connector)
    ~ ", cast(_cdc_source_ts as string))" -%}
{%- set is_of_event = "event.before_here is null and " ~ alluvium._same_key(feed, "event", "state") -%}
{%- set key_range = alluvium._has_key_within(feed, news) -%}
with followed as (
    select
        {{ key | join(",\n        ") }},
        _cdc_op,
        _cdc_position,
        _cdc_file_path,
        _cdc_line,
        lag({{ event.format("_cdc_op <> 'd'") }}) over (
            partition by {{ key | join(", ") }} order by _cdc_position
        ) as before_here,
        max(_cdc_op = 'd') over (partition by {{ (key + [transaction]) | join(", ") }}) as is_moved,
        max(_cdc_op in ('c', 'r')) over (partition by {{ key | join(", ") }}) as is_created
    from (
        {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(8) }}
    ) as changes
),

events as (
    select *
    from followed
    where _cdc_op in ({{ alluvium._string_literals(ops) }})
),

preceded as (
    select
        event.*,
        {{ "coalesce(event.before_here, state.before)" if is_incremental() else "event.before_here" }} as before
    from events as event
    {%- if is_incremental() %}
    left join (
        select
            {{ key | join(",\n            ") }},
            {{ event.format("not _is_deleted") }} as before
        from {{ this }} as state
        left semi join events as event on {{ is_of_event }}
        {%- if key_range %}
        where {{ key_range }}
        {%- endif %}
    ) as state on {{ is_of_event }}
    {%- endif %}
)
{%- endmacro %}


{% macro _key_conflict_message(feed, found) %}
    {%- set said = ["creates of a key that has a row"] if found.create_count else [] -%}
    {%- do said.append("updates and deletes of keys that neither a complete snapshot nor a create has named")
        if found.conflict_count > found.create_count -%}
    {{ return(
        feed.name ~ ": " ~ found.conflict_count ~ " events contradict the key " ~ feed.key | join(", ")
        ~ " (on_key_conflict: " ~ feed.on_key_conflict ~ "), "
        ~ said | join(", and ") ~ "; first " ~ found.key_values ~ " (op " ~ found.op ~ ") at " ~ found.place
        ~ (", whose row is from " ~ found.place_before if found.place_before else "")
        ~ ". Look up the table's primary key and correct `key`, unless the events between are missing or rejected"
    ) }}
{% endmacro %}


{# What a state's property says of its latest merge; empty where no merge has ever had a conflict. #}
{% macro _key_conflict_properties() %}
    {%- set said = alluvium._remembered("key_conflict", this) -%}
    {{ return(
        {"key_conflicts": alluvium._remembered("key_conflicts", this), "key_conflict": said} if said
        else {"key_conflicts": "0", "key_conflict": ""}
        if alluvium._table_property(this, "key_conflicts") not in ["none", "0"] else {}
    ) }}
{% endmacro %}


{% macro _key_conflicts_of_latest_merge(state) -%}
    {%- set count = alluvium._table_property(state, "key_conflicts") | int(0) -%}
    select
        {{ count }} as conflict_count,
        {{ alluvium._string_literal(alluvium._table_property(state, "key_conflict")) }} as first_conflict
    where {{ "true" if count else "false" }}
{%- endmacro %}
