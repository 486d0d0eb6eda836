{# What a green run should not hide: warnings of what the newest batch of a change log brought. #}
{% macro _announce_batch(change_log, counted) %}
    {%- set feed = alluvium._feed_of_relation("announce_batch", change_log) -%}
    {%- do alluvium._announce_rejected_lines(change_log, counted) -%}
    {%- do alluvium._announce_absent_columns(change_log, counted) -%}
    {%- do alluvium._announce_lost_deletes(change_log, feed, counted) -%}
    {%- do alluvium._announce_shared_positions(change_log, feed, counted) -%}
    {%- do alluvium._announce_rows_lost_by_dumps(change_log, feed, counted) -%}
{% endmacro %}


{# The test rejected_within_threshold decides whether they are too many. #}
{% macro _announce_rejected_lines(change_log, counted) %}
    {%- if counted.rejected_count -%}
        {%- do alluvium._warn(
            change_log.identifier ~ ": " ~ counted.rejected_count ~ " of " ~ counted.line_count
            ~ " new lines rejected. The first: "
            ~ alluvium._first_rejected_lines(change_log)
            ~ ". All: `select _cdc_reject_reason, _cdc_reject_detail, _cdc_raw from " ~ change_log
            ~ " where _cdc_batch = " ~ counted.batch
            ~ " and _cdc_reject_reason is not null`"
        ) -%}
    {%- endif -%}
{% endmacro %}


{#
    By default ExtractNewRecordState leaves the tombstone of a delete alone, which names no key in a file: the rows
    would stay, and nothing else would say so.
#}
{% macro _announce_lost_deletes(change_log, feed, counted) %}
    {%- if counted.control_count and feed.shape == "flattened" -%}
        {%- set found = alluvium._query_rows(alluvium._tombstones_and_deletes_sql(change_log, counted.batch))[0] -%}
        {%- if found.tombstones and not found.deletes -%}
            {%- do alluvium._warn(
                change_log.identifier ~ ": " ~ found.tombstones
                ~ " tombstones and no delete in the new files. With the connector's default "
                ~ "(`delete.tombstone.handling.mode: tombstone`) deletes are not in the files: rows that the source "
                "has deleted stay. "
                ~ "`rewrite` writes them; `reconcile` finds the rows"
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _tombstones_and_deletes_sql(change_log, batch) -%}
select
    count_if(_cdc_kind = 'tombstone') as tombstones,
    count_if(_cdc_op = 'd') as deletes
from {{ change_log }}
where _cdc_batch = {{ batch }}
{%- endmacro %}


{#
    A server that writes no positions inside of a transaction (connectors) leaves events in an order that nobody can
    tell from a right one. Two changes at one position show it: a move has one create there, and another delivery the
    same image.
#}
{% macro _announce_shared_positions(change_log, feed, counted) %}
    {%- if feed.connector in ["mysql", "mariadb"] and not alluvium._has_declared_order(feed) -%}
        {%- set found = alluvium._query_rows(alluvium._shared_positions_sql(change_log, feed, counted.batch))[0] -%}
        {%- if found.shared_positions -%}
            {%- do alluvium._warn(
                change_log.identifier ~ ": " ~ found.shared_positions
                ~ " binlog positions of the new files are each those of several changes, whose order nothing says: "
                ~ "rows may be wrong. Does the server write no positions inside of transactions? Set "
                "`binlog_legacy_event_pos=ON` (MariaDB 11.4 and later) or "
                ~ "`binlog_transaction_compression=OFF` (MySQL)"
                ~ (", and send `source.row` with `add.fields`" if feed.shape == "flattened" else "")
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    A flattened event may lack the number of its row in a statement; one statement changes a row of a table with a key
    once.
#}
{% macro _shared_positions_sql(change_log, feed, batch) -%}
{%- set position = alluvium._snapshot_start(feed) -%}
{%- set row_hash =
    "xxhash64(" ~ (alluvium._column_list(feed.key) + [alluvium._image_of_event(feed)]) | join(", ") ~ ")" -%}
select count(*) as shared_positions
from (
    select {{ position }} as position
    from {{ change_log }}
    where
        _cdc_batch = {{ batch }}
        and _cdc_kind = 'change'
        and _cdc_op in ('c', 'u')
    group by {{ ([position] + (alluvium._column_list(feed.key) if feed.shape == "flattened" else [])) | join(", ") }}
    having min({{ row_hash }}) <> max({{ row_hash }})
) as shared
{%- endmacro %}


{#
    The log keeps what a file had before it was landed anew. Of a full dump a row that it has lost since is one that was
    not there: it stays until the log is built anew.
#}
{% macro _announce_rows_lost_by_dumps(change_log, feed, counted) %}
    {%- set files =
        alluvium._query_rows(alluvium._files_landed_again_sql(change_log, counted.batch)) if feed.full_dumps else [] -%}
    {%- if files -%}
        {%- set found = alluvium._query_rows(
            alluvium._rows_lost_by_dumps_sql(change_log, feed, counted.batch, files | map(attribute="file_path") | list)
        )[0] -%}
        {%- if found.lost_rows -%}
            {%- do alluvium._warn(
                change_log.identifier ~ ": full dumps that were landed anew lack " ~ found.lost_rows
                ~ " rows that they had before. These stay until "
                ~ alluvium._rebuild_command(change_log)
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _files_landed_again_sql(change_log, batch) -%}
select file_path
from {{ alluvium._file_ledger() }}
where
    {{ alluvium._is_entry_of(change_log) }}
    and batch <= {{ batch }}
group by file_path
having
    max(batch) = {{ batch }}
    and min(batch) < {{ batch }}
{%- endmacro %}


{# A row that another file of the same dump has is not lost. #}
{% macro _rows_lost_by_dumps_sql(change_log, feed, batch, files) -%}
{%- set row = [alluvium._snapshot_start(feed)] + alluvium._column_list(feed.key) -%}
select count(*) as lost_rows
from (
    select {{ row[0] }} as position
    from {{ change_log }}
    where
        _cdc_kind = 'change'
        and _cdc_snapshot is not null
    group by {{ row | join(", ") }}
    having every(_cdc_batch < {{ batch }} and array_contains({{ alluvium._literal_array(files) }}, _cdc_file_path))
) as lost
{%- endmacro %}
