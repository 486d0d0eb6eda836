{#
    Where a table began anew: at a truncate, and at the start of a snapshot of the whole table that has come to its end.
    A row whose newest event lies below is gone, whether or not an event says so: a truncate has no key, and a second
    snapshot no event for a row that it no longer finds. As positions they give the same rows in any order of arrival.

    What the batches to apply have to be held against, oldest first, as {position, micros}: the resets that they bring,
    and those above the oldest change that they bring, which came late. Usually none, and one query says so.
#}
{% macro pending_resets(change_log, feed, batches, snapshotted_with) %}
    {%- set known = alluvium.known_reset(this) if is_incremental() else "" -%}
    {%- set resets = [] -%}
    {%- if snapshotted_with or batches.after != batches.until -%}
        {%- set news = alluvium.query_rows(alluvium.new_resets_sql(change_log, feed, batches, snapshotted_with))[0] -%}
        {%- do feed.update({"lacks_values": news.lacks_values}) -%}
        {%- do alluvium.refuse_broken_dump("current_state", change_log, feed, batches, known) if feed.full_dumps and known -%}
        {%- if news.has_whole_deletes -%}
            {%- do alluvium.warn(
                feed.name ~ ": deletes show more of their rows than a key. "
                ~ ("Has it no LOB column" if feed.connector == "oracle" else "Is its REPLICA IDENTITY FULL")
                ~ "? Then say `replica_identity: full` in meta.cdc, or a swap of keys would lose a row; if not, say "
                ~ ("`default`" if feed.connector == "oracle" else "which it is")
            ) -%}
        {%- endif -%}
        {#- The row that kept a snapshot from deleting may have been mended: the end of that snapshot is in an older batch. -#}
        {%- set newest = [known, news.newest_reset or "", news.newest_snapshot or ""] | max -%}
        {%- set lowest = [news.oldest_change or newest, news.oldest_reset or newest, news.oldest_snapshot or newest] | min -%}
        {#- Also where nothing lies below it yet: what comes late may. -#}
        {%- if newest > lowest or newest > known -%}
            {#- A contested key's past may reach back behind the oldest change. -#}
            {%- set above = "" if alluvium.has_contested_keys(feed) else [lowest, known or lowest] | min -%}
            {%- do resets.extend(alluvium.standing_resets(change_log, feed, batches, snapshotted_with, above)) -%}
        {%- endif -%}
        {%- set newest = ([known] + resets | map(attribute="position") | list) | max -%}
        {%- do alluvium.remember("reset_at", this, newest) if newest != known -%}
        {%- do alluvium.remember("resets", this, resets) if resets -%}
        {%- do alluvium.remember("oldest_change", this, news.oldest_change) if news.oldest_change -%}
        {%- do alluvium.check_key(change_log, feed, batches, resets, news) if alluvium.may_check_key(feed) -%}
    {%- endif -%}
    {{ return(resets) }}
{% endmacro %}


{# None of a table whose snapshots delete nothing, nor do those of others then. #}
{% macro logs_snapshotted_with(feed, change_logs) %}
    {{ return([] if feed.snapshots == "partial" else change_logs) }}
{% endmacro %}


{#
    Rows that it lacks are deleted already, and one of them may be in the line that nobody can read. Below a newer reset that holds
    they are gone in any case.
#}
{% macro refuse_broken_dump(caller_name, change_log, feed, batches, known) %}
    {%- set broken = alluvium.query_rows(alluvium.broken_dump_sql(change_log, feed, batches, known))[0].file_path -%}
    {%- if broken and not alluvium.query_rows(alluvium.resets_sql(change_log, feed, batches, [], known)) -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": source " ~ feed.name,
            "full dump", broken,
            "a file without rejected lines, since " ~ this ~ " has deleted what the other files of its dump lack; land it anew, whole, under the same path, or have its dump delete nothing by "
            ~ alluvium.rebuild_command(this)
        ) %}
    {%- endif -%}
{% endmacro %}


{# A broken file of the dump that is the newest reset. #}
{% macro broken_dump_sql(change_log, feed, batches, known) -%}
select min(file_path) as file_path
from (
    {{ alluvium.broken_dump_files_sql(change_log, feed, batches, known) | indent(4) }}
) as broken
where startswith(position, '{{ known }}')
{%- endmacro %}


{#
    The files of full dumps with a line that is rejected. A file that was landed anew, or read again, is what its newest batch has: that is
    what a change log built anew would have of it. A position is any that lies in the dump.
#}
{% macro broken_dump_files_sql(change_log, feed, batches, above) -%}
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
{% macro newest_reset() %}
    {{ return(alluvium.remembered("reset_at", this) or (alluvium.known_reset(this) if is_incremental() else "") if alluvium.is_run() else "") }}
{% endmacro %}


{# Of those that pending_resets() found, and of the newest one. #}
{% macro positions_of_resets(resets) %}
    {{ return((resets | map(attribute="position") | list + [alluvium.newest_reset()]) | reject("equalto", "") | unique | sort) }}
{% endmacro %}


{# The newest reset that a state has applied, an empty text before its first. #}
{% macro known_reset(state) %}
    {%- set position = alluvium.table_property(state, "reset_at") -%}
    {{ return("" if position == "none" else position) }}
{% endmacro %}


{#
    A reset that only another table's log has seen changes rows without a batch of this table's own; a new generation has
    marts take the state whole.
#}
{% macro reset_properties(applied_batches) %}
    {%- set reset_at = alluvium.remembered("reset_at", this) -%}
    {%- if not reset_at or reset_at == alluvium.known_reset(this) -%}
        {{ return({}) }}
    {%- endif -%}
    {{ return({"reset_at": reset_at} if applied_batches else {"reset_at": reset_at, "generation": alluvium.run_id()}) }}
{% endmacro %}


{# The resets that pending_resets() found when this model compiled. #}
{% macro remembered_resets() %}
    {{ return(alluvium.remembered("resets", this) or []) }}
{% endmacro %}


{% macro new_resets_sql(change_log, feed, batches, snapshotted_with) -%}
select
    min(if(is_own and not is_reset, position, null)) as oldest_change,
    min(if(is_own and is_reset, position, null)) as oldest_reset,
    max(if(is_reset, position, null)) as newest_reset,
    min(snapshot) as oldest_snapshot,
    max(snapshot) as newest_snapshot,
    coalesce(max(lacks_values), false) as lacks_values
    {%- if alluvium.may_check_key(feed) %},
    count_if(is_own and op = 'c') as create_count,
    count_if(is_own and op in ('u', 'd')) as other_count,
    min(key_value) as lowest_key,
    max(key_value) as highest_key
    {%- endif %}
    {%- if alluvium.has_undeclared_identity(feed) %},
    {#- Key-only images are all alike: NULL, or the defaults of the columns. #}
    coalesce(min(image_of_delete) <> max(image_of_delete), false) as has_whole_deletes
    {%- endif %}
from (
    select
        true as is_own,
        {{ alluvium.image_of_delete(feed) }} as image_of_delete,
        _cdc_unavailable_columns is not null as lacks_values,
        {{ alluvium.is_reset(feed) }} as is_reset,
        {{ alluvium.snapshot_of_row(feed) }} as snapshot,
        {{ alluvium.reset_position(feed) }} as position
        {%- if alluvium.may_check_key(feed) %},
        _cdc_op as op,
        {{ alluvium.quoted_identifier(feed.key[0]) }} as key_value
        {%- endif %}
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
        and {{ alluvium.has_its_place(change_log, feed) }}
    {%- for other in snapshotted_with %}
    union all
    select
        false as is_own,
        null as image_of_delete,
        false as lacks_values,
        true as is_reset,
        null as snapshot,
        {{ alluvium.snapshot_start(feed) }} as position
        {%- if alluvium.may_check_key(feed) %},
        null as op,
        null as key_value
        {%- endif %}
    from {{ other }}
    where {{ alluvium.ends_snapshot(["last"]) }}
    {%- endfor %}
) as news
{%- endmacro %}


{% macro has_undeclared_identity(feed) %}
    {{ return(feed.replica_identity == "undeclared" and feed.connector in ["postgresql", "oracle"]) }}
{% endmacro %}


{% macro image_of_delete(feed) -%}
    {%- if alluvium.has_undeclared_identity(feed) and alluvium.names_outside_key(feed) -%}
        if(_cdc_kind = 'change' and _cdc_op = 'd', to_json({{ alluvium.image_of_event(feed) }}), null)
    {%- else -%}
        cast(null as string)
    {%- endif -%}
{%- endmacro %}


{#
    The resets from a position on that no rejected line keeps from being one, oldest first, as {position, micros}. Few logs have a
    reset and a rejected line: to ask for the two one after the other takes a fifth of the time of the whole query, which
    took more than a state's own merge (Spark 3.5.7, a thousand rows).
#}
{% macro standing_resets(change_log, feed, batches, snapshotted_with, above) %}
    {%- set resets = alluvium.query_rows(alluvium.resets_sql(change_log, feed, batches, snapshotted_with, above, false)) -%}
    {%- set has_rejected = resets and alluvium.query_rows(alluvium.rejected_line_sql(change_log, batches)) -%}
    {%- set standing = alluvium.query_rows(alluvium.resets_sql(change_log, feed, batches, snapshotted_with, above)) if has_rejected else resets -%}
    {{ return(standing | sort(attribute="position", case_sensitive=true)) }}
{% endmacro %}


{% macro rejected_line_sql(change_log, batches) -%}
select _cdc_file_path
from {{ change_log }}
where
    _cdc_kind = 'rejected'
    and _cdc_batch <= {{ batches.until }}
limit 1
{%- endmacro %}


{#
    A snapshot of which a row is rejected closes nothing: that row has not vanished. Nor does one that ends after a line came of which nobody
    knows what it was, unless the file was written before the snapshot was taken; of a full dump the file says it.
#}
{% macro resets_sql(change_log, feed, batches, snapshotted_with, above, without_rejected=true) -%}
select
    position,
    unix_micros(min(source_ts)) as micros
from (
    select
        {{ alluvium.reset_position(feed) }} as position,
        min(_cdc_source_ts) as source_ts,
        _cdc_batch as batch
    from {{ change_log }}
    where
        {{ alluvium.is_reset(feed) }}
        and {{ alluvium.has_its_place(change_log, feed) }}
        and _cdc_position >= '{{ above }}'
        and _cdc_batch <= {{ batches.until }}
    group by {{ alluvium.reset_position(feed) }}, _cdc_batch
    {%- if snapshotted_with %}
    union all
    {{ alluvium.resets_of_other_logs_sql(snapshotted_with, change_log, feed, batches, above) | indent(4) }}
    {%- endif %}
) as _cdc_resets
{%- if without_rejected %}
where not exists (
    select 1
    {%- if feed.full_dumps %}
    from (
        {{ alluvium.broken_dump_files_sql(change_log, feed, batches, above) | indent(8) }}
    ) as broken
    where startswith(broken.position, _cdc_resets.position)
    {%- else %}
    from (
        {{ alluvium.standing_rejections_sql(change_log, batches) | indent(8) }}
    ) as rejected
    where
        (rejected._cdc_position >= '{{ above }}' and startswith(rejected._cdc_position, _cdc_resets.position))
        or (
            rejected._cdc_position is null
            and rejected._cdc_batch <= _cdc_resets.batch
            and length(_cdc_resets.position) = {{ alluvium.source_position_length(feed) }}
            -- The clocks of the source and of the storage may differ.
            and not coalesce(rejected._cdc_written_at < _cdc_resets.source_ts - interval 1 hour, false)
        )
    {%- endif %}
)
{%- endif %}
group by position
{%- endmacro %}


{#
    The end of a snapshot of all tables, from other tables' logs. It has the batch in which this table's own rows of that snapshot came;
    of a table that the snapshot found empty nothing came, and any line that nobody can read may have been one.
#}
{% macro resets_of_other_logs_sql(others, change_log, feed, batches, above) -%}
select
    other.position,
    other.source_ts,
    coalesce(own.batch, {{ batches.until }}) as batch
from (
    {%- for other in others %}
    select
        {{ alluvium.snapshot_start(feed) }} as position,
        _cdc_source_ts as source_ts
    from {{ other }}
    where
        {{ alluvium.ends_snapshot(["last"]) }}
        and _cdc_position >= '{{ above }}'
    {{- "\n    union all" if not loop.last }}
    {%- endfor %}
) as other
left join (
    select
        {{ alluvium.snapshot_start(feed) }} as position,
        max(_cdc_batch) as batch
    from {{ change_log }}
    where
        _cdc_kind in ('change', 'purged')
        and _cdc_op = 'r'
        and _cdc_position >= '{{ above }}'
        and _cdc_batch <= {{ batches.until }}
    group by {{ alluvium.snapshot_start(feed) }}
) as own on other.position = own.position
{%- endmacro %}


{#
    Rejected lines but for those of a file that was landed anew with another length, as one is that was listed while it was being
    written: the file is what its newest batch has, and that is what a change log built anew would have of it. When the file was written
    its other lines say, too: S3 dates an object by the start of a multipart upload, which a sink begins with the first line.
#}
{% macro standing_rejections_sql(change_log, batches) -%}
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


{% macro is_reset(feed) %}
    {%- if feed.snapshots == "partial" -%}
        {{ return("_cdc_kind = 'truncate'") }}
    {%- endif -%}
    {#- Any row of a full dump says where that lies, also one that says of a row that it is deleted. -#}
    {%- set ends = "_cdc_kind in ('change', 'purged') and _cdc_snapshot is not null" if feed.full_dumps else alluvium.ends_snapshot(["last", "last_in_data_collection"]) -%}
    {{ return("(_cdc_kind = 'truncate' or (" ~ ends ~ "))") }}
{% endmacro %}


{# Debezium marks the last row of each table of a snapshot, and the last one of all with `last`; one that was purged is where it was. #}
{% macro ends_snapshot(markers) %}
    {{ return("_cdc_kind in ('change', 'purged') and _cdc_op = 'r' and _cdc_snapshot in ('" ~ markers | join("', '") ~ "')") }}
{% endmacro %}


{# A snapshot resets the table below all of its rows, which share their source position. #}
{% macro reset_position(feed) %}
    {%- set is_of_snapshot = "_cdc_kind <> 'truncate' and _cdc_snapshot is not null" if feed.full_dumps else "_cdc_op = 'r' and _cdc_snapshot like 'last%'" -%}
    {{ return("if(" ~ is_of_snapshot ~ ", " ~ alluvium.snapshot_start(feed) ~ ", _cdc_position)") }}
{% endmacro %}


{# Where the snapshot of the whole table began that a row is of; NULL for another row. #}
{% macro snapshot_of_row(feed) %}
    {%- if feed.snapshots == "partial" -%}
        {{ return("cast(null as string)") }}
    {%- endif -%}
    {%- set is_of_snapshot = "_cdc_snapshot is not null" if feed.full_dumps else "_cdc_op = 'r' and not _cdc_snapshot <=> 'incremental'" -%}
    {{ return("if(" ~ is_of_snapshot ~ ", " ~ alluvium.snapshot_start(feed) ~ ", null)") }}
{% endmacro %}


{% macro snapshot_start(feed, row="") %}
    {{ return("left(" ~ row ~ "_cdc_position, " ~ alluvium.source_position_length(feed) ~ ")") }}
{% endmacro %}


{# Whether a row was gone at a reset after its newest event. #}
{% macro is_reset_away(resets, row="") %}
    {{ return(row ~ "_cdc_position < '" ~ (resets | last).position ~ "'") }}
{% endmacro %}


{# When it was: the first reset after that event. #}
{% macro reset_away_at(resets, row="") -%}
    timestamp_micros({{ alluvium.first_reset_above(resets, row) }}.micros)
{%- endmacro %}


{# NULL where there is none. #}
{% macro first_reset_above(resets, row="") -%}
    get(filter(
        array(
            {%- for reset in resets %}
            struct('{{ reset.position }}' as position, cast({{ reset.micros if reset.micros is not none else "null" }} as bigint) as micros){{ "," if not loop.last }}
            {%- endfor %}
        ),
        reset -> reset.position > {{ row }}_cdc_position
    ), 0)
{%- endmacro %}
