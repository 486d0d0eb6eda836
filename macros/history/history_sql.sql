{# The columns outside the key whose change makes a version. #}
{% macro _tracked_columns(subject, feed, column_list, except_column_list) %}
    {%- set names = alluvium._names_outside_key(feed) -%}
    {%- if column_list is not none and except_column_list is not none -%}
        {% do alluvium._raise_invalid(
            subject, "track_history_except_column_list", except_column_list,
            "one of the two lists; track_history_column_list is given, too"
        ) %}
    {%- endif -%}
    {%- for argument, given in {
        "track_history_column_list": column_list, "track_history_except_column_list": except_column_list
    }.items() if given is not none -%}
        {%- if given is string or given is not sequence -%}
            {% do alluvium._raise_invalid(subject, argument, given, "a list of columns outside the key") %}
        {%- endif -%}
        {%- for name in given -%}
            {% do alluvium._require_one_of(subject, argument, name, names) %}
        {%- endfor -%}
    {%- endfor -%}
    {%- if column_list is not none -%}
        {{ return(names | select("in", column_list) | list) }}
    {%- endif -%}
    {{ return(names | reject("in", except_column_list or []) | list) }}
{% endmacro %}


{#
    A column that comes or goes makes other versions of keys without an event, too: all are computed anew, and those
    that differ are merged. A table of an earlier release does not say which columns it was built with.
#}
{% macro _take_all_where_tracked_otherwise(tracked, batches) %}
    {%- set fingerprint = local_md5(tojson(tracked | sort)) -%}
    {%- set known = alluvium._table_property(this, "tracked_columns") if is_incremental() else "none" -%}
    {%- do alluvium._remember("tracked_columns", this, fingerprint) if fingerprint != known -%}
    {%- do batches.update({"after": 0}) if known not in ["none", fingerprint] -%}
{% endmacro %}


{#
    All resets of the table, oldest first, as {position, micros}: a key is computed from its first event on. Remembered
    by a fingerprint, because one that comes late, or a snapshot that turns out to have a rejected row, changes more
    than the newest. With full dumps the newest stands behind it: a history refuses what a state refuses.
#}
{% macro _resets_of_history(change_log, feed, batches, snapshotted_with) %}
    {%- if batches.after == batches.until and not snapshotted_with -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set known = alluvium._known_reset(this).partition(" ")[2] if feed.full_dumps and is_incremental() else "" -%}
    {%- do alluvium._require_no_broken_dump("history", change_log, feed, batches, known) if known -%}
    {%- set resets = alluvium._standing_resets(change_log, feed, batches, snapshotted_with, "") -%}
    {%- set fingerprint =
        local_md5(tojson(resets)) ~ (" " ~ (resets | last).position if feed.full_dumps and resets else "") -%}
    {%- if batches.after != batches.until or fingerprint != alluvium._known_reset(this) -%}
        {%- do alluvium._remember("reset_at", this, fingerprint) -%}
        {%- do alluvium._remember("resets", this, resets) -%}
        {{ return(resets) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{#
    A history takes all events of a key, so that it needs the columns of all. The query takes longer than the windows of
    a few columns (Spark 3.5.7); of 1,200 columns these took three minutes. A table that names some is asked about each
    batch, however few columns it still has: the property holds for all batches.
#}
{% macro _ask_for_columns_left_out(change_log, feed, batches) %}
    {%- set names_some = is_incremental() and alluvium._table_property(this, "columns_left_out") != "none" -%}
    {%- if names_some or alluvium._columns_of_unavailable_values(feed) | length >= 20 -%}
        {%- if batches.after != batches.until -%}
            {%- set sql = alluvium._columns_left_out_sql(change_log, feed, batches) -%}
            {%- do alluvium._note_columns_left_out(feed, alluvium._query_rows(sql)[0].left_out) -%}
        {%- endif -%}
        {%- do feed.update({"filled_columns": alluvium._columns_left_out(feed)}) -%}
    {%- endif -%}
{% endmacro %}


{% macro _columns_left_out_sql(change_log, feed, batches) -%}
select {{ alluvium._columns_left_out_of_batch(alluvium._columns_left_out_of_event(feed)) }} as left_out
from (
    {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(4) }}
) as changes
{%- endmacro %}


{% macro _history_sql(change_log, feed, tracked, batches, resets) -%}
{%- if alluvium._has_nothing_to_apply(change_log, feed, batches, resets) -%}
{{ alluvium._no_rows_sql() }}
{%- else -%}
{{ alluvium._keyed_rows(
    alluvium._versions_sql(change_log, feed, tracked, batches, resets), feed, feed.key + ["_cdc_position"]
) }}
{%- endif -%}
{%- endmacro %}


{% macro _versions_sql(change_log, feed, tracked, batches, resets) -%}
with
{%- set is_partial = batches and is_incremental() and batches.after > 0 %}
{%- if is_partial %}
{{ alluvium._touched_keys(change_log, feed, batches, resets) }}
{%- endif %}
{{ alluvium._versions_of_keys(change_log, feed, tracked, batches, resets, "touched" if is_partial else none) }}

{{ alluvium._changed_versions(feed, batches, "touched" if is_partial else none) if batches and is_incremental()
    else "select *\nfrom versions" }}
{%- endmacro %}


{% macro _touched_keys(change_log, feed, batches, resets) -%}
{%- set has_new_resets = alluvium._remembered("reset_at", this) != alluvium._known_reset(this) -%}
-- Keys of the new changes, and of versions that new resets do not leave as they are.
touched as (
    select {{ alluvium._column_list(feed.key) | join(", ") }}
    from (
        {{ alluvium._changes_of_batches(change_log, feed, batches) | indent(8) }}
    ) as news
    {{- "" if has_new_resets else "\n    group by " ~ alluvium._column_list(feed.key) | join(", ") }}
    {%- if has_new_resets %}
    union
    select {{ alluvium._column_list(feed.key) | join(", ") }}
    from {{ this }}
    where {{ alluvium._is_cut_by_reset(feed, resets) | indent(8) }}
    {%- endif %}
),
{%- endmacro %}


{# A version that lives on over a reset, or that ends at a snapshot that closes nothing. #}
{% macro _is_cut_by_reset(feed, resets) -%}
    (_cdc_ended_op = 'r' and length(_cdc_ended_position) = {{ alluvium._source_position_length(feed) }}
    {%- if resets %}
    and not array_contains(
        {{ alluvium._literal_array(resets | map(attribute="position")) }}, _cdc_ended_position
    )
    or coalesce(
        {{ alluvium._first_reset_above(resets) | indent(8) }}.position < coalesce(_cdc_ended_position, '~'), false
    )
    {%- endif %})
{%- endmacro %}


{# From the events of these keys, of all without `keys`, to their versions. #}
{% macro _versions_of_keys(change_log, feed, tracked, batches, resets, keys) -%}
{%- set lineage = alluvium._history_lineage_columns() -%}
{%- set is_contested = alluvium._has_reused_keys(feed) -%}
-- The row changes, each once, however often it was delivered.
delivered as (
    select
        *,
        {{ alluvium._identity_of_event(feed) }} as _cdc_source_position
    from (
        {{ alluvium._changes_of_batches(change_log, feed, {"after": 0, "until": batches.until} if batches else none)
            | indent(8) }}
    ) as _cdc_past
    {%- if keys %}
    where exists (select 1 from {{ keys }} where {{ alluvium._same_key(feed, "_cdc_past", keys) }})
    {%- endif %}
),

events as (
    {{ alluvium._latest_by_key(
        "delivered",
        feed.key + ["_cdc_source_position", "_cdc_op"],
        feed.columns | map(attribute="name") | list + lineage + ["_cdc_unavailable_columns"]
    ) | indent(4) }}
),

-- Each event with the newest image of its row up to it.
images as (
    {{ alluvium._row_images("events", feed) | indent(4) }}
),
{%- if is_contested %}

-- What lives after a delete under a key that two rows had at once.
survivors as (
    {{ alluvium._surviving_rows("events", feed, resets) | indent(4) }}
),
{%- endif %}

{{ alluvium._intervals_of_rows(feed, tracked, resets, is_contested) }}

versions as (
    {{ alluvium._version_columns(feed, batches) | indent(4) }}
)
{%- endmacro %}


{% macro _intervals_of_rows(feed, tracked, resets, is_contested) -%}
{%- set by_position -%}
over (partition by {{ alluvium._column_list(feed.key) | join(", ") }} order by _cdc_position)
{%- endset -%}
-- The row that each event leaves under its key, NULL for none.
settled as (
    select
        {{ (alluvium._column_list(feed.key + alluvium._history_lineage_columns(), "images.")) | join(",\n        ") }},
        {{ alluvium._row_after_event(feed, is_contested) | indent(8) }} as _cdc_row
    from images
    {%- if is_contested %}
    left join survivors
        on
            {{ alluvium._same_key(feed, "images", "survivors") }}
            and images._cdc_position = survivors._cdc_position
    {%- endif %}
),

followed as (
    select
        *,
        lead(struct(_cdc_position as position, _cdc_op as op, _cdc_source_ts as source_ts))
            {{ by_position }} as _cdc_next
        {%- if resets %},
        {{ alluvium._first_reset_above(resets) | indent(8) }} as _cdc_reset
        {%- endif %}
    from settled
),

-- What ended it: the next event, or a reset before.
ended as (
    select
        *,
        {{ alluvium._end_of_row(feed, resets) | indent(8) }} as _cdc_until
    from followed
    where _cdc_row is not null
),

-- Rows that go on from the one before are one version.
numbered as (
    select
        *,
        count_if(not _cdc_goes_on) {{ by_position }} as _cdc_version
    from (
        select
            *,
            coalesce({{ alluvium._goes_on(feed, tracked, by_position) | indent(12) }}, false) as _cdc_goes_on
        from ended
    ) as compared
),
{%- endmacro %}


{# The `_cdc_*` columns that a version keeps of the event that it begins with. #}
{% macro _history_lineage_columns() %}
    {{ return(alluvium._state_lineage_columns() | reject("equalto", "_cdc_batch") | list) }}
{% endmacro %}


{% macro _row_after_event(feed, is_contested) -%}
{%- if is_contested -%}
case
    when images._cdc_op <> 'd' then images._cdc_image
    when size(survivors._cdc_rows.rows) > 0 then {{ alluvium._image_of_survivor("survivors", feed) | indent(4) }}
end
{%- else -%}
if(images._cdc_op = 'd', null, images._cdc_image)
{%- endif -%}
{%- endmacro %}


{# A snapshot does not end a row that it names. #}
{% macro _end_of_row(feed, resets) -%}
{%- if resets -%}
if(
    _cdc_reset.position < coalesce(_cdc_next.position, '~')
    and not coalesce(_cdc_next.op = 'r' and startswith(_cdc_next.position, _cdc_reset.position), false),
    struct(
        _cdc_reset.position as position,
        if(length(_cdc_reset.position) = {{ alluvium._source_position_length(feed) }}, 'r', 't') as op,
        timestamp_micros(_cdc_reset.micros) as source_ts
    ),
    _cdc_next
)
{%- else -%}
_cdc_next
{%- endif -%}
{%- endmacro %}


{#
    Whether a row is the one before: with equal values where versions are collapsed, or the survivor of a delete that
    was another row's.
#}
{% macro _goes_on(feed, tracked, by_position) -%}
{%- set same = [alluvium._compared_values(feed, tracked)] if tracked is not none else [] -%}
{%- if alluvium._has_reused_keys(feed) -%}
    {%- do same.append("struct(_cdc_row._cdc_position, _cdc_row._cdc_unresolved_columns)") -%}
{%- endif -%}
lag(_cdc_until.position) {{ by_position }} = _cdc_position
and (
    {%- for row in same %}
    {{ "or " if not loop.first }}lag({{ row }}) {{ by_position }} <=> {{ row }}
    {%- else %}
    false
    {%- endfor %}
)
{%- endmacro %}


{# What is not known of a row is compared, too. #}
{% macro _compared_values(feed, tracked) %}
    {%- set values = [
        alluvium._array_or_null(
            "array_intersect(_cdc_row._cdc_unresolved_columns, " ~ alluvium._literal_array(tracked) ~ ")"
        )
        if tracked else "true"
    ] -%}
    {%- for column in feed.columns if column.name in tracked -%}
        {%- do values.append(
                alluvium._comparable("_cdc_row." ~ alluvium._quoted_identifier(column.name), column.data_type)
            ) -%}
    {%- endfor -%}
    {{ return("struct(" ~ values | join(", ") ~ ")") }}
{% endmacro %}


{# The values of a version are its last event's, where it is from its first one's. #}
{% macro _version_columns(feed, batches) -%}
{%- set key = alluvium._column_list(feed.key) -%}
{%- set values = alluvium._names_outside_key(feed) -%}
select
    {%- for column in feed.columns %}
    {%- set name = alluvium._quoted_identifier(column.name) %}
    {%- set value = alluvium._partitioned_value(column, ("" if column.name in feed.key else "_cdc_last.row.") ~ name) %}
    {{ value }}{{ " as " ~ name if not value.endswith(name) }},
    {%- endfor %}
    _cdc_first._cdc_source_ts as _valid_from,
    _cdc_last.until.source_ts as _valid_to,
    _cdc_last.until is null as _is_current,
    _cdc_last.until.position as _cdc_ended_position,
    _cdc_last.until.op as _cdc_ended_op,
    _cdc_last.row._cdc_position as _cdc_image_position,
    _cdc_last.row._cdc_value_positions,
    _cdc_last.row._cdc_moved_columns,
    _cdc_last.row._cdc_unresolved_columns,
    {{ alluvium._column_list(
        alluvium._history_lineage_columns() | reject("equalto", "_cdc_source_ts"), "_cdc_first."
    ) | join(",\n    ") }},
    cast({{ batches.until if batches else 0 }} as bigint) as _cdc_batch
from (
    select
        {{ key | join(", ") }},
        min_by(struct({{ alluvium._history_lineage_columns() | join(", ") }}), _cdc_position) as _cdc_first,
        max_by(struct(_cdc_row as row, _cdc_until as until), _cdc_position) as _cdc_last
    from numbered
    group by {{ key | join(", ") }}, _cdc_version
) as versions_of_events
{%- endmacro %}


{#
    What to merge: versions that the table does not have like that, and with a NULL `_cdc_op` those that it has and that
    are none any more. A column that the table has not yet is NULL in it.
#}
{% macro _changed_versions(feed, batches, keys) -%}
{%- set types = {"_cdc_value_positions": "map<string,string>"} -%}
{%- for column in feed.columns -%}
    {%- do types.update({column.name: column.data_type}) -%}
{%- endfor -%}
{%- set there = adapter.get_columns_in_relation(this) | map(attribute="name") | list -%}
{%- set columns = alluvium._names_outside_key(feed) + alluvium._history_columns() -%}
select
    {%- for name in feed.key %}
    {%- set column = alluvium._quoted_identifier(name) %}
    coalesce(versions.{{ column }}, stored.{{ column }}) as {{ column }},
    {%- endfor %}
    coalesce(versions._cdc_position, stored._cdc_position) as _cdc_position,
    {{ alluvium._column_list(columns, "versions.") | join(",\n    ") }},
    cast({{ batches.until }} as bigint) as _cdc_batch
from versions
full outer join (
    select *
    from {{ this }} as _cdc_stored
    {%- if keys %}
    where exists (select 1 from {{ keys }} where {{ alluvium._same_key(feed, "_cdc_stored", keys) }})
    {%- endif %}
) as stored on {{ alluvium._same_key(feed, "versions", "stored") }} and versions._cdc_position = stored._cdc_position
where
    versions._cdc_position is null
    or stored._cdc_position is null
    {%- for name in columns %}
    {%- set column = alluvium._quoted_identifier(name) %}
    or not {{ alluvium._comparable("versions." ~ column, types.get(name, "")) }} <=> {{
        alluvium._comparable("stored." ~ column, types.get(name, "")) if name in there else "null"
    }}
    {%- endfor %}
{%- endmacro %}


{# The columns of a history that are not the source's, but the position that it is merged on and the batch. #}
{% macro _history_columns() %}
    {{ return([
        "_valid_from", "_valid_to", "_is_current", "_cdc_ended_position", "_cdc_ended_op", "_cdc_image_position",
        "_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns",
    ] + alluvium._history_lineage_columns() | reject("in", ["_cdc_source_ts", "_cdc_position"]) | list) }}
{% endmacro %}
