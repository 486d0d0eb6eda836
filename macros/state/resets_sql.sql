{% macro _may_check_key(feed) %}
    {{ return(feed.key | length > 0 and feed.shape != "row" and feed.on_key_conflict != "ignore") }}
{% endmacro %}


{# None of a table whose snapshots delete nothing, nor do those of others then. #}
{% macro _logs_snapshotted_with(feed, change_logs) %}
    {{ return([] if feed.snapshots == "partial" else change_logs) }}
{% endmacro %}


{#
    Rows that it lacks are deleted already, and one of them may be in the line that nobody can read. Below a newer reset
    that holds they are gone in any case.
#}
{% macro _require_no_broken_dump(caller_name, change_log, feed, batches, known) %}
    {%- set broken = alluvium._query_rows(alluvium._broken_dump_sql(change_log, feed, batches, known))[0].file_path -%}
    {%- if broken and not alluvium._query_rows(alluvium._resets_sql(change_log, feed, batches, [], known)) -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": source " ~ feed.name,
            "full dump", broken,
            "a file without rejected lines, since " ~ this
            ~ " has deleted what the other files of its dump lack; land it anew, whole, under the same path, "
            ~ "or have its dump delete nothing by "
            ~ alluvium._rebuild_command(this)
        ) %}
    {%- endif -%}
{% endmacro %}


{# A broken file of the dump that is the newest reset. #}
{% macro _broken_dump_sql(change_log, feed, batches, known) -%}
select min(file_path) as file_path
from (
    {{ alluvium._broken_dump_files_sql(change_log, feed, batches, known) | indent(4) }}
) as broken
where startswith(position, '{{ known }}')
{%- endmacro %}


{#
    The files of full dumps with a line that is rejected. A file that was landed anew, or read again, is what its newest
    batch has: that is what a change log built anew would have of it. A position is any that lies in the dump.
#}
{% macro _broken_dump_files_sql(change_log, feed, batches, above) -%}
select
    _cdc_file_path as file_path,
    max(_cdc_position) as position
from {{ change_log }}
where
    _cdc_snapshot is not null
    and _cdc_position >= '{{ above }}'
    and _cdc_batch <= {{ batches.until }}
group by _cdc_file_path
having max(if(_cdc_kind = 'rejected', _cdc_batch, null)) = max(_cdc_batch)
{%- endmacro %}


{# The newest reset that this model knows of in this run, with what its new batches bring. #}
{% macro _latest_reset() %}
    {{ return(
        alluvium._remembered("reset_at", this) or (alluvium._known_reset(this) if is_incremental() else "")
        if alluvium._is_run() else ""
    ) }}
{% endmacro %}


{# Of those that _pending_resets() found, and of the newest one. #}
{% macro _positions_of_resets(resets) %}
    {{ return(
        (resets | map(attribute="position") | list + [alluvium._latest_reset()]) | reject("equalto", "") | unique | sort
    ) }}
{% endmacro %}


{# The newest reset that a state has applied, an empty text before its first. #}
{% macro _known_reset(state) %}
    {%- set position = alluvium._table_property(state, "reset_at") -%}
    {{ return("" if position == "none" else position) }}
{% endmacro %}


{#
    A reset that only another table's log has seen changes rows without a batch of this table's own; a new generation
    has marts take the state whole.
#}
{% macro _reset_properties(applied_batches) %}
    {%- set reset_at = alluvium._remembered("reset_at", this) -%}
    {%- if not reset_at or reset_at == alluvium._known_reset(this) -%}
        {{ return({}) }}
    {%- endif -%}
    {{ return(
        {"reset_at": reset_at} if applied_batches else {"reset_at": reset_at, "generation": alluvium._run_id()}
    ) }}
{% endmacro %}


{# The resets that _pending_resets() found when this model compiled. #}
{% macro _remembered_resets() %}
    {{ return(alluvium._remembered("resets", this) or []) }}
{% endmacro %}


{% macro _new_resets_sql(change_log, feed, batches, snapshotted_with) -%}
select
    min(if(is_own and not is_reset, position, null)) as oldest_change,
    min(if(is_own and is_reset, position, null)) as oldest_reset,
    max(if(is_reset, position, null)) as newest_reset,
    min(snapshot) as oldest_snapshot,
    max(snapshot) as newest_snapshot,
    {{ alluvium._columns_left_out_of_batch("left_out") }} as left_out,
    count_if(op = 'c') as create_count,
    count_if(op in ('u', 'd')) as other_count,
    min(key_value) as lowest_key,
    max(key_value) as highest_key
    {%- if alluvium._has_undeclared_identity(feed) %},
    {#- Key-only images are all alike: NULL, or the defaults of the columns. #}
    coalesce(min(image_of_delete) <> max(image_of_delete), false) as has_whole_deletes
    {%- endif %}
from (
    select
        true as is_own,
        {{ alluvium._image_of_delete(feed) }} as image_of_delete,
        {{ alluvium._columns_left_out_of_event(feed) }} as left_out,
        {{ alluvium._is_reset(feed) }} as is_reset,
        {{ alluvium._snapshot_of_row(feed) }} as snapshot,
        {{ alluvium._reset_position(feed) }} as position,
        _cdc_op as op,
        {{ alluvium._key_as_number(feed) }} as key_value
    from {{ change_log }}
    where
        {%- if feed.full_dumps %}
        {#- A file without rows may have mended its dump. #}
        (_cdc_kind in ('change', 'truncate') or _cdc_snapshot is not null)
        {%- else %}
        _cdc_kind in ('change', 'truncate', 'purged')
        {%- endif %}
        and _cdc_batch > {{ batches.after }}
        and _cdc_batch <= {{ batches.until }}
        and {{ alluvium._has_its_place(change_log, feed) }}
    {%- for other in snapshotted_with %}
    union all
    select
        false as is_own,
        null as image_of_delete,
        null as left_out,
        true as is_reset,
        null as snapshot,
        {{ alluvium._snapshot_start(feed) }} as position,
        null as op,
        null as key_value
    from {{ other }}
    where {{ alluvium._ends_snapshot(["last"]) }}
    {%- endfor %}
) as news
{%- endmacro %}


{% macro _has_undeclared_identity(feed) %}
    {{ return(feed.replica_identity == "undeclared" and feed.connector in ["postgresql", "oracle"]) }}
{% endmacro %}


{% macro _image_of_delete(feed) -%}
    {%- if alluvium._has_undeclared_identity(feed) and alluvium._names_outside_key(feed) -%}
        if(_cdc_kind = 'change' and _cdc_op = 'd', to_json({{ alluvium._image_of_event(feed) }}), null)
    {%- else -%}
        cast(null as string)
    {%- endif -%}
{%- endmacro %}


{#
    The resets from a position on that no rejected line keeps from being one, oldest first, as {position, micros}. Few
    logs have a reset and a rejected line: to ask for the two one after the other takes a fifth of the time of the whole
    query, which took more than a state's own merge (Spark 3.5.7, a thousand rows).
#}
{% macro _standing_resets(change_log, feed, batches, snapshotted_with, above) %}
    {%- set resets =
        alluvium._query_rows(alluvium._resets_sql(change_log, feed, batches, snapshotted_with, above, false)) -%}
    {%- set has_rejected = resets and alluvium._query_rows(alluvium._rejected_line_sql(change_log, batches)) -%}
    {%- set standing =
        alluvium._query_rows(alluvium._resets_sql(change_log, feed, batches, snapshotted_with, above)) if has_rejected
        else resets -%}
    {{ return(standing | sort(attribute="position", case_sensitive=true)) }}
{% endmacro %}


{% macro _rejected_line_sql(change_log, batches) -%}
select _cdc_file_path
from {{ change_log }}
where
    _cdc_kind = 'rejected'
    and _cdc_batch <= {{ batches.until }}
limit 1
{%- endmacro %}


{#
    A snapshot of which a row is rejected closes nothing: that row has not vanished. Nor does one that ends after a line
    came of which nobody knows what it was, unless the file was written before the snapshot was taken; of a full dump
    the file says it.
#}
{% macro _resets_sql(change_log, feed, batches, snapshotted_with, above, without_rejected=true) -%}
select
    position,
    unix_micros(min(source_ts)) as micros
from (
    select
        {{ alluvium._reset_position(feed) }} as position,
        min(_cdc_source_ts) as source_ts,
        _cdc_batch as batch
    from {{ change_log }}
    where
        {{ alluvium._is_reset(feed) }}
        and {{ alluvium._has_its_place(change_log, feed) }}
        and _cdc_position >= '{{ above }}'
        and _cdc_batch <= {{ batches.until }}
    group by {{ alluvium._reset_position(feed) }}, _cdc_batch
    {%- if snapshotted_with %}
    union all
    {{ alluvium._resets_of_other_logs_sql(snapshotted_with, change_log, feed, batches, above) | indent(4) }}
    {%- endif %}
) as _cdc_resets
{%- if without_rejected %}
where not exists (
    select 1
    {%- if feed.full_dumps %}
    from (
        {{ alluvium._broken_dump_files_sql(change_log, feed, batches, above) | indent(8) }}
    ) as broken
    where startswith(broken.position, _cdc_resets.position)
    {%- else %}
    from (
        {{ alluvium._standing_rejections_sql(change_log, batches) | indent(8) }}
    ) as rejected
    where
        (rejected._cdc_position >= '{{ above }}' and startswith(rejected._cdc_position, _cdc_resets.position))
        or (
            rejected._cdc_position is null
            and rejected._cdc_batch <= _cdc_resets.batch
            and length(_cdc_resets.position) = {{ alluvium._source_position_length(feed) }}
            -- The clocks of the source and of the storage may differ.
            and not coalesce(rejected._cdc_written_at < _cdc_resets.source_ts - interval 1 hour, false)
        )
    {%- endif %}
)
{%- endif %}
group by position
{%- endmacro %}


{#
    The end of a snapshot of all tables, from other tables' logs. It has the batch in which this table's own rows of
    that snapshot came; of a table that the snapshot found empty nothing came, and any line that nobody can read may
    have been one.
#}
{% macro _resets_of_other_logs_sql(others, change_log, feed, batches, above) -%}
select
    other.position,
    other.source_ts,
    coalesce(own.batch, {{ batches.until }}) as batch
from (
    {%- for other in others %}
    select
        {{ alluvium._snapshot_start(feed) }} as position,
        _cdc_source_ts as source_ts
    from {{ other }}
    where
        {{ alluvium._ends_snapshot(["last"]) }}
        and _cdc_position >= '{{ above }}'
    {{- "\n    union all" if not loop.last }}
    {%- endfor %}
) as other
left join (
    select
        {{ alluvium._snapshot_start(feed) }} as position,
        max(_cdc_batch) as batch
    from {{ change_log }}
    where
        _cdc_kind in ('change', 'purged')
        and _cdc_op = 'r'
        and _cdc_position >= '{{ above }}'
        and _cdc_batch <= {{ batches.until }}
    group by {{ alluvium._snapshot_start(feed) }}
) as own on other.position = own.position
{%- endmacro %}


{#
    Rejected lines but for those of a file that was landed anew with another length, as one is that was listed while it
    was being
    written: the file is what its newest batch has, and that is what a change log built anew would have of it. When the
    file was written its other lines say, too: S3 dates an object by the start of a multipart upload, which a sink
    begins with the first line.
#}
{% macro _standing_rejections_sql(change_log, batches) -%}
select
    rejected.*,
    greatest(rejected._cdc_file_modified_at, files.source_ts) as _cdc_written_at
from {{ change_log }} as rejected
inner join (
    select
        _cdc_file_path,
        max(_cdc_source_ts) as source_ts,
        max(_cdc_batch) as batch,
        max_by(_cdc_file_length, _cdc_batch) as file_length
    from {{ change_log }}
    where
        _cdc_batch <= {{ batches.until }}
        and _cdc_file_path in (select _cdc_file_path from {{ change_log }} where _cdc_kind = 'rejected')
    group by _cdc_file_path
) as files
    on rejected._cdc_file_path = files._cdc_file_path
    and (rejected._cdc_batch = files.batch or rejected._cdc_file_length = files.file_length)
where rejected._cdc_kind = 'rejected'
{%- endmacro %}


{% macro _is_reset(feed) %}
    {%- if feed.snapshots == "partial" -%}
        {{ return("_cdc_kind = 'truncate'") }}
    {%- endif -%}
    {#- Any row of a full dump says where that lies, also one that says of a row that it is deleted. -#}
    {%- set ends = "_cdc_kind in ('change', 'purged') and _cdc_snapshot is not null" if feed.full_dumps
        else alluvium._ends_snapshot(["last", "last_in_data_collection"]) -%}
    {{ return("(_cdc_kind = 'truncate' or (" ~ ends ~ "))") }}
{% endmacro %}


{#
    Debezium marks the last row of each table of a snapshot, and the last one of all with `last`; one that was purged is
    where it was.
#}
{% macro _ends_snapshot(markers) %}
    {{ return(
        "_cdc_kind in ('change', 'purged') and _cdc_op = 'r' and _cdc_snapshot in ('" ~ markers | join("', '") ~ "')"
    ) }}
{% endmacro %}


{# A snapshot resets the table below all of its rows, which share their source position. #}
{% macro _reset_position(feed) %}
    {%- set is_of_snapshot = "_cdc_kind <> 'truncate' and _cdc_snapshot is not null" if feed.full_dumps
        else "_cdc_op = 'r' and _cdc_snapshot like 'last%'" -%}
    {{ return("if(" ~ is_of_snapshot ~ ", " ~ alluvium._snapshot_start(feed) ~ ", _cdc_position)") }}
{% endmacro %}


{# Where the snapshot of the whole table began that a row is of; NULL for another row. #}
{% macro _snapshot_of_row(feed) %}
    {%- if feed.snapshots == "partial" -%}
        {{ return("cast(null as string)") }}
    {%- endif -%}
    {%- set is_of_snapshot =
        "_cdc_snapshot is not null" if feed.full_dumps else "_cdc_op = 'r' and not _cdc_snapshot <=> 'incremental'" -%}
    {{ return("if(" ~ is_of_snapshot ~ ", " ~ alluvium._snapshot_start(feed) ~ ", null)") }}
{% endmacro %}


{# Whether a row was gone at a reset after its newest event. #}
{% macro _is_reset_away(resets, row="") %}
    {{ return(row ~ "_cdc_position < '" ~ (resets | last).position ~ "'") }}
{% endmacro %}


{# When it was: the first reset after that event. #}
{% macro _reset_away_at(resets, row="") -%}
    timestamp_micros({{ alluvium._first_reset_above(resets, row) }}.micros)
{%- endmacro %}


{# NULL where there is none. #}
{% macro _first_reset_above(resets, row="") -%}
    get(filter(
        array(
            {%- for reset in resets %}
            struct(
                '{{ reset.position }}' as position,
                cast({{ reset.micros if reset.micros is not none else "null" }} as bigint) as micros
            ){{ "," if not loop.last }}
            {%- endfor %}
        ),
        reset -> reset.position > {{ row }}_cdc_position
    ), 0)
{%- endmacro %}
