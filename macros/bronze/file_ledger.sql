{#
    The ledger says which files each change log holds. It is an index, not the truth: the log is. What the ledger
    lacks after a kill is derived again from the log's newest batches (level_file_ledger), and what it has too much
    after a restored log loses its file, so the two cannot drift apart for longer than one run.
#}
{% macro file_ledger() %}
    {{ return(api.Relation.create(schema=var("alluvium_ledger_schema", target.schema), identifier="cdc_file_ledger")) }}
{% endmacro %}


{% macro create_file_ledger() %}
    {%- if execute and flags.WHICH in ["build", "run", "test", "retry", "run-operation"] -%}
        {%- set ledger = alluvium.file_ledger() -%}
        {%- do alluvium.run_state().update({"ledger_schema": ledger.schema}) -%}
        {%- do run_query("create schema if not exists " ~ ledger.schema) -%}
        {%- set is_new = load_relation(ledger) is none -%}
        {%- do alluvium.create_ledger(ledger, alluvium.create_file_ledger_sql(ledger)) -%}
        {#- A catalog that has lost its tables has lost these, too, and nothing else would miss them: purged rows would come back. -#}
        {%- for kept in [alluvium.purge_ledger(), alluvium.released_lines()] if is_new -%}
            {%- do alluvium.register_ledger(kept) -%}
        {%- endfor -%}
        {#- One that was made before it had them; its entries have none. -#}
        {%- set columns = adapter.get_columns_in_relation(ledger) | map(attribute="name") | list -%}
        {%- for newest, added in {
            "missing_inside": alluvium.offset_columns(),
            "last_position": alluvium.difference_columns(),
            "replay_requested_at": alluvium.replay_column(),
            "declaration": alluvium.declaration_column(),
        }.items() if newest not in columns -%}
            {%- do run_query("alter table " ~ ledger ~ " add columns (" ~ added ~ ")") -%}
        {%- endfor -%}
        {%- do run_query(alluvium.create_schema_drift_sql(ledger)) -%}
    {%- endif -%}
{% endmacro %}


{% macro create_file_ledger_sql(ledger) -%}
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
{{ alluvium.offset_columns() }},
{{ alluvium.difference_columns() }},
{{ alluvium.replay_column() }},
{{ alluvium.declaration_column() }}
{%- endset -%}
{%- set options -%}
partitioned by (change_log)
tblproperties ('delta.dataSkippingStatsColumns' = 'batch')
{%- endset -%}
{{ alluvium.create_ledger_sql(ledger, columns, options) }}
{%- endmacro %}


{# The ledger's column about replays. #}
{% macro replay_column() -%}
replay_requested_at timestamp comment 'since when the file is to be read again, whatever the declaration says'
{%- endmacro %}


{# The ledger's column about how the file's lines were decoded. #}
{% macro declaration_column() -%}
declaration string comment 'the options that the lines were decoded with, as hashes; NULL where nobody knows'
{%- endmacro %}


{#
    Brings the ledger level with a change log, and returns the newest batch that either had. Costs one metadata
    query when they are level. Called when a change log compiles for a run: what a killed run left is caught up here.
    Batches of a restored log go on counting where the ledger was: a state that has applied batch 2 would pass over
    another batch 2. So the entries that the log no longer has lose their file and keep their number.
#}
{% macro level_file_ledger(change_log) %}
    {%- do alluvium.require_one_ledger("level_file_ledger") -%}
    {%- set newest = alluvium.query_rows(alluvium.newest_batches_sql(change_log))[0] -%}
    {%- set ledger_batch, log_batch = newest.ledger_batch or 0, newest.log_batch or 0 -%}
    {%- if log_batch < ledger_batch -%}
        {%- do run_query(alluvium.void_entries_sql(change_log, log_batch)) -%}
    {%- elif log_batch > ledger_batch -%}
        {#- A run was killed that built the log anew: what is behind it has not heard of that. -#}
        {%- do alluvium.set_generation(change_log) if not ledger_batch and is_incremental() -%}
        {%- do run_query(alluvium.record_files_sql(alluvium.file_ledger(), change_log, ledger_batch)) -%}
    {%- endif -%}
    {%- do alluvium.remember("newest_batch", change_log, log_batch) -%}
    {%- do alluvium.remember("ledger_batch", change_log, [log_batch, ledger_batch] | max) -%}
    {{ return([log_batch, ledger_batch] | max) }}
{% endmacro %}


{# In scalar subqueries Delta answers the log's from its statistics, without a scan; in a union of the two it scans (3.3.3). #}
{% macro newest_batches_sql(change_log) -%}
    select
        ({{ alluvium.newest_log_batch_sql(change_log) }}) as log_batch,
        ({{ alluvium.newest_ledger_batch_sql(change_log) }}) as ledger_batch
{%- endmacro %}


{# From here on the log is another one to what reads it: states and histories are built anew (should_full_refresh). #}
{% macro set_generation(change_log) %}
    {%- do alluvium.set_properties(change_log, {"generation": alluvium.run_id()}) -%}
{% endmacro %}


{% macro void_entries_sql(change_log, after_batch) -%}
    update {{ alluvium.file_ledger() }}
    set
        file_path = null,
        file_length = null,
        line_count = 0,
        change_count = 0,
        rejected_count = 0,
        control_count = 0
    where
        {{ alluvium.is_entry_of(change_log) }}
        and batch > {{ after_batch }}
        and file_path is not null
{%- endmacro %}


{# The condition on the ledger for one change log. #}
{% macro is_entry_of(change_log) %}
    {{ return("change_log = " ~ alluvium.string_literal(change_log.render())) }}
{% endmacro %}


{% macro newest_ledger_batch(change_log) %}
    {%- set rows = alluvium.query_rows(alluvium.newest_ledger_batch_sql(change_log)) -%}
    {{ return((rows[0].batch if rows else none) or 0) }}
{% endmacro %}


{% macro newest_ledger_batch_sql(change_log) %}
    {{ return("select max(batch) as batch from " ~ alluvium.file_ledger() ~ " where " ~ alluvium.is_entry_of(change_log)) }}
{% endmacro %}


{#
    The newest batch of a change log: what this run has found or appended, else the log is asked. Another run may have
    appended since; then the next run sees it.
#}
{% macro newest_batch(change_log) %}
    {%- set found = alluvium.remembered("newest_batch", change_log) -%}
    {{ return(found if found is not none else alluvium.newest_log_batch(change_log)) }}
{% endmacro %}


{#
    Delta answers this from the statistics in its transaction log, without a scan: the change log is append-only. It
    has to stand alone for that, or in a scalar subquery (Delta 3.3.3).
#}
{% macro newest_log_batch(change_log) %}
    {%- set rows = alluvium.query_rows(alluvium.newest_log_batch_sql(change_log)) -%}
    {{ return((rows[0].batch if rows else none) or 0) }}
{% endmacro %}


{% macro newest_log_batch_sql(change_log) %}
    {{ return("select max(_cdc_batch) as batch from " ~ change_log) }}
{% endmacro %}


{# Of this run's own batch it is known how it was decoded, of one that a killed run has left it is not. #}
{% macro record_files_sql(ledger, change_log, after_batch, is_of_this_run=false) -%}
    {%- set feed = alluvium.feed_of_relation("record_files_sql", change_log) -%}
    insert into {{ ledger }}
    {{ alluvium.file_entries_sql(feed, change_log, "_cdc_batch > " ~ after_batch, alluvium.declared(alluvium.meaning_of_log(feed)) if is_of_this_run else none) }}
{%- endmacro %}


{# The ledger's entries of the files of some of a change log's rows. #}
{% macro file_entries_sql(feed, change_log, condition, declaration=none) -%}
    select
        {{ alluvium.string_literal(change_log.render()) }} as change_log,
        file_path,
        file_length,
        file_modified_at,
        batch,
        line_count,
        change_count,
        rejected_count,
        control_count,
        current_timestamp() as recorded_at,
        {{ alluvium.file_offsets(feed) | indent(4) }},
        {{ alluvium.file_differences(feed) | indent(8) }},
        cast(null as timestamp) as replay_requested_at,
        {{ alluvium.literal_or_null(declaration) }} as declaration
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
            {{ alluvium.counted_offsets() | indent(8) }},
            {{ alluvium.collected_differences() | indent(12) }}
        from {{ change_log }}
        where {{ condition }}
        group by _cdc_file_path, _cdc_file_length, _cdc_batch
    ) as files
{%- endmacro %}


{#
    A change log that is built anew holds no file yet; its batches go on counting, so that what reads it sees news. The
    log that is replaced may hold a batch that the ledger does not know, after a kill or a lost ledger: level them first.
#}
{% macro forget_files(feed, change_log) %}
    {%- set is_change_log = "_cdc_batch" in adapter.get_columns_in_relation(change_log) | map(attribute="name") -%}
    {%- set newest = alluvium.level_file_ledger(change_log) if is_change_log else alluvium.newest_ledger_batch(change_log) -%}
    {%- if newest -%}
        {%- do alluvium.refuse_missing_files(feed, change_log) -%}
        {%- do run_query("delete from " ~ alluvium.file_ledger() ~ " where " ~ alluvium.is_entry_of(change_log)) -%}
    {%- endif -%}
    {%- do alluvium.remember("ledger_batch", change_log, 0) -%}
    {{ return(newest) }}
{% endmacro %}


{#
    Each batch leaves a small file in its log's partition of the ledger; every fiftieth makes one of them. Not Delta's
    auto compaction: it looks for work after each insert, which took twice as long (0.7 s for 0.33 s, Delta 3.3.3).
#}
{% macro compact_entries(change_log, batch) %}
    {%- if batch % 50 == 0 -%}
        {%- do run_query("optimize " ~ alluvium.file_ledger() ~ " where " ~ alluvium.is_entry_of(change_log)) -%}
    {%- endif -%}
{% endmacro %}


{# The batches that the ledger has entered since, the newest first. #}
{% macro recorded_batches_sql(change_log, after_batch) -%}
    select
        batch,
        sum(rejected_count) as rejected_count,
        sum(line_count) as line_count,
        sum(control_count) as control_count,
        max(if(absent_columns is null, 0, size(absent_columns))) as absent_count
    from {{ alluvium.file_ledger() }}
    where
        {{ alluvium.is_entry_of(change_log) }}
        and batch > {{ after_batch }}
    group by batch
    order by batch desc
{%- endmacro %}


{#
    The post-hook of a change log. The ledger was level when the model compiled (next_batch), so what it lacks is what
    was appended since. What is behind the log hears of a batch only when rows of it are there: the files may have
    vanished since they were listed, and then the number is given anew.
#}
{% macro record_applied_files() %}
    {%- do alluvium.set_generation(this) if execute and alluvium.remembered("is_built_anew", this) -%}
    {%- if execute and not alluvium.has_no_new_files() -%}
        {%- set known = alluvium.remembered("ledger_batch", this) -%}
        {%- set level = alluvium.newest_ledger_batch(this) if known is none else known -%}
        {%- do run_query(alluvium.record_files_sql(alluvium.file_ledger(), this, level, is_of_this_run=true)) -%}
        {%- set recorded = alluvium.query_rows(alluvium.recorded_batches_sql(this, level)) -%}
        {%- do alluvium.remember("newest_batch", this, recorded[0].batch if recorded else level) -%}
        {%- if recorded -%}
            {%- do alluvium.announce_batch(this, recorded[0]) -%}
            {%- do alluvium.drop_superseded_rows(this) if alluvium.remembered("files_read_again", this) -%}
            {%- do alluvium.compact_entries(this, recorded[0].batch) -%}
        {%- endif -%}
        {%- do alluvium.check_offsets(this, level) -%}
    {%- elif execute -%}
        {%- do alluvium.check_offsets(this, none) -%}
    {%- endif -%}
{% endmacro %}
