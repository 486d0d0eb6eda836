{% macro create_file_ledger() %}
    {%- if execute and flags.WHICH in ["build", "run", "test", "retry", "run-operation"] -%}
        {%- set ledger = alluvium._file_ledger() -%}
        {%- do alluvium._run_state().update({"ledger_schema": ledger.schema}) -%}
        {%- do run_query("create schema if not exists " ~ ledger.schema) -%}
        {%- set is_new = load_relation(ledger) is none -%}
        {%- do alluvium._create_ledger(ledger, alluvium._create_file_ledger_sql(ledger)) -%}
        {#-
            A catalog that has lost its tables has lost these, too, and nothing else would miss them: purged rows would
            come back.
        -#}
        {%- for kept in [alluvium._purge_ledger(), alluvium._released_lines()] if is_new -%}
            {%- do alluvium._register_ledger(kept) -%}
        {%- endfor -%}
        {#- One that was made before it had them; its entries have none. -#}
        {%- set columns = adapter.get_columns_in_relation(ledger) | map(attribute="name") | list -%}
        {%- for newest, added in {
            "missing_inside": alluvium._offset_columns(),
            "last_position": alluvium._difference_columns(),
            "replay_requested_at": alluvium._replay_column(),
            "declaration": alluvium._declaration_column(),
        }.items() if newest not in columns -%}
            {%- do run_query("alter table " ~ ledger ~ " add columns (" ~ added ~ ")") -%}
        {%- endfor -%}
        {%- do run_query(alluvium._create_schema_drift_sql(ledger))
            if load_relation(alluvium._schema_drift_view()) is none -%}
    {%- endif -%}
{% endmacro %}


{% macro _create_file_ledger_sql(ledger) -%}
{%- set columns -%}
change_log string comment 'relation of the change log',
file_path string,
file_length bigint,
file_modified_at timestamp,
batch bigint comment 'batch of the change log that holds the file',
line_count bigint,
change_count bigint,
rejected_count bigint,
control_count bigint comment 'tombstones, heartbeats, transaction markers, messages, blank lines and the like',
recorded_at timestamp,
{{ alluvium._offset_columns() }},
{{ alluvium._difference_columns() }},
{{ alluvium._replay_column() }},
{{ alluvium._declaration_column() }}
{%- endset -%}
{%- set options -%}
partitioned by (change_log)
tblproperties ('delta.dataSkippingStatsColumns' = 'batch')
{%- endset -%}
{{ alluvium._create_ledger_sql(ledger, columns, options) }}
{%- endmacro %}


{# The ledger's column about replays. #}
{% macro _replay_column() -%}
replay_requested_at timestamp comment 'since when the file is to be read again, whatever the declaration says'
{%- endmacro %}


{# The ledger's column about how the file's lines were decoded. #}
{% macro _declaration_column() -%}
declaration string comment 'the options that the lines were decoded with, as hashes; NULL where nobody knows'
{%- endmacro %}


{#
    Brings the ledger level with a change log, and returns the newest batch that either had. `latest` has the batches
    where a query has brought them. Called when a change log compiles for a run: what a killed run left is caught up.
    Batches of a restored log go on counting where the ledger was: a state that has applied batch 2 would pass over
    another batch 2. So the entries that the log no longer has lose their file and keep their number, and what has
    applied them is rebuilt.
#}
{% macro _sync_file_ledger(change_log, latest=none) %}
    {%- do alluvium._require_one_ledger("_sync_file_ledger") -%}
    {%- set newest = latest or alluvium._query_rows(alluvium._latest_batches_sql(change_log))[0] -%}
    {%- set log_batch, held_batch = newest.log_batch or 0, newest.held_batch or 0 -%}
    {%- set latest_batch = [log_batch, newest.ledger_batch or 0] | max -%}
    {%- if log_batch < held_batch -%}
        {%- do alluvium._set_generation(change_log) if is_incremental() -%}
        {%- do run_query(alluvium._void_entries_sql(change_log, log_batch)) -%}
        {#- Restored to before a full refresh, or forward again: batches of it have no entry any more. -#}
        {%- do run_query(alluvium._record_files_sql(
            alluvium._file_ledger(), change_log,
            "_cdc_batch not in (select batch from " ~ alluvium._file_ledger() ~ " where "
            ~ alluvium._is_entry_of(change_log) ~ " and file_path is not null)"
        )) -%}
    {%- elif log_batch > held_batch -%}
        {#- A run was killed that built the log anew: what is behind it has not heard of that. -#}
        {%- do alluvium._set_generation(change_log) if not newest.ledger_batch and is_incremental() -%}
        {%- do run_query(
            alluvium._record_files_sql(alluvium._file_ledger(), change_log, "_cdc_batch > " ~ held_batch)
        ) -%}
    {%- endif -%}
    {%- do alluvium._remember("newest_batch", change_log, log_batch) -%}
    {%- do alluvium._remember("ledger_batch", change_log, latest_batch) -%}
    {{ return(latest_batch) }}
{% endmacro %}


{% macro _void_entries_sql(change_log, after_batch) -%}
    update {{ alluvium._file_ledger() }}
    set
        file_path = null,
        file_length = null,
        line_count = 0,
        change_count = 0,
        rejected_count = 0,
        control_count = 0
    where
        {{ alluvium._is_entry_of(change_log) }}
        and batch > {{ after_batch }}
        and file_path is not null
{%- endmacro %}


{% macro _latest_ledger_batch(change_log) %}
    {%- set rows = alluvium._query_rows(alluvium._latest_ledger_batch_sql(change_log)) -%}
    {{ return((rows[0].batch if rows else none) or 0) }}
{% endmacro %}


{#
    The newest batch of a change log: what this run has found or appended, else the log is asked. Another run may have
    appended since; then the next run sees it.
#}
{% macro _latest_batch(change_log) %}
    {%- set known = alluvium._remembered("newest_batch", change_log) -%}
    {%- set found = alluvium._latest_log_batch(change_log) if known is none else known -%}
    {%- do alluvium._remember("newest_batch", change_log, found) -%}
    {{ return(found) }}
{% endmacro %}


{#
    Delta answers this from the statistics in its transaction log, without a scan: the change log is append-only. It
    has to stand alone for that, or in a scalar subquery (Delta 3.3.3).
#}
{% macro _latest_log_batch(change_log) %}
    {%- set rows = alluvium._query_rows(alluvium._latest_log_batch_sql(change_log)) -%}
    {{ return((rows[0].batch if rows else none) or 0) }}
{% endmacro %}


{# Of this run's own batch it is known how it was decoded, of one that a killed run has left it is not. #}
{% macro _record_files_sql(ledger, change_log, condition, is_of_this_run=false) -%}
    {%- set feed = alluvium._feed_of_relation("record_files_sql", change_log) -%}
    insert into {{ ledger }}
    {{ alluvium._file_entries_sql(
        feed, change_log, condition,
        alluvium._declared(alluvium._meaning_of_log(feed)) if is_of_this_run else none
    ) }}
{%- endmacro %}


{# The ledger's entries of the files of some of a change log's rows. #}
{% macro _file_entries_sql(feed, change_log, condition, declaration=none) -%}
    select
        {{ alluvium._string_literal(change_log.render()) }} as change_log,
        file_path,
        file_length,
        file_modified_at,
        batch,
        line_count,
        change_count,
        rejected_count,
        control_count,
        current_timestamp() as recorded_at,
        {{ alluvium._file_offsets(feed) | indent(4) }},
        {{ alluvium._file_differences(feed) | indent(8) }},
        cast(null as timestamp) as replay_requested_at,
        {{ alluvium._literal_or_null(declaration) }} as declaration
    from (
        select
            _cdc_file_path as file_path,
            _cdc_file_length as file_length,
            max(_cdc_file_modified_at) as file_modified_at,
            _cdc_batch as batch,
            count_if(_cdc_kind <> 'empty_file') as line_count,
            count_if(_cdc_kind in ('change', 'truncate')) as change_count,
            count_if(_cdc_kind = 'rejected') as rejected_count,
            count_if(_cdc_kind not in ('change', 'truncate', 'rejected', 'empty_file')) as control_count,
            {{ alluvium._counted_offsets() | indent(8) }},
            {{ alluvium._collected_differences() | indent(12) }}
        from {{ change_log }}
        where {{ condition }}
        group by _cdc_file_path, _cdc_file_length, _cdc_batch
    ) as files
{%- endmacro %}


{#
    A change log that is built anew holds no file yet; its batches go on counting, so that what reads it sees news. The
    log that is replaced may hold a batch that the ledger does not know, after a kill or a lost ledger: level them
    first.
#}
{% macro _forget_files(feed, change_log) %}
    {%- set is_change_log = "_cdc_batch" in adapter.get_columns_in_relation(change_log) | map(attribute="name") -%}
    {%- set newest =
        alluvium._sync_file_ledger(change_log) if is_change_log else alluvium._latest_ledger_batch(change_log) -%}
    {%- if newest -%}
        {%- do alluvium._require_no_missing_files(feed, change_log) -%}
        {%- do run_query("delete from " ~ alluvium._file_ledger() ~ " where " ~ alluvium._is_entry_of(change_log)) -%}
    {%- endif -%}
    {%- do alluvium._remember("ledger_batch", change_log, 0) -%}
    {#- Without a file the new log has no batch, and its next one is the first: what reads it has applied none. -#}
    {%- do alluvium._remember("newest_batch", change_log, 0) -%}
    {{ return(newest) }}
{% endmacro %}


{#
    Each batch leaves a small file in its log's partition of the ledger; every fiftieth makes one of them. Not Delta's
    auto compaction: it looks for work after each insert, which took twice as long (0.7 s for 0.33 s, Delta 3.3.3).
#}
{% macro _compact_entries(change_log, batch) %}
    {%- if batch % 50 == 0 -%}
        {%- do run_query("optimize " ~ alluvium._file_ledger() ~ " where " ~ alluvium._is_entry_of(change_log)) -%}
    {%- endif -%}
{% endmacro %}


{# The batches that the ledger has entered since, the newest first. #}
{% macro _recorded_batches_sql(change_log, after_batch) -%}
    select
        batch,
        sum(rejected_count) as rejected_count,
        sum(line_count) as line_count,
        sum(control_count) as control_count,
        max(if(absent_columns is null, 0, size(absent_columns))) as absent_count
    from {{ alluvium._file_ledger() }}
    where
        {{ alluvium._is_entry_of(change_log) }}
        and batch > {{ after_batch }}
    group by batch
    order by batch desc
{%- endmacro %}
