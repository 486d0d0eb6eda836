{#
    The ledger says which files each change log holds. It is an index, not the truth: the log is. What the ledger
    lacks after a kill is derived again from the log's newest batches (`_sync_file_ledger`), and what it has too much
    after a restored log loses its file, so the two cannot drift apart for longer than one run.
#}
{% macro _file_ledger() %}
    {{ return(api.Relation.create(schema=var("alluvium_ledger_schema", target.schema), identifier="cdc_file_ledger")) }}
{% endmacro %}


{# From here on the log is another one to what reads it: states and histories are built anew (should_full_refresh). #}
{% macro _set_generation(change_log) %}
    {%- do alluvium._set_properties(change_log, {"generation": alluvium._run_id()}) -%}
{% endmacro %}


{# The condition on the ledger for one change log. #}
{% macro _is_entry_of(change_log) %}
    {{ return("change_log = " ~ alluvium._string_literal(change_log.render())) }}
{% endmacro %}


{#
    Which keys of which tables were purged (purge_rows): the purge filter, which keeps their rows from coming back, asks
    it. It has no value of a key, only a hash; who knows the possible keys can still tell which of them it is. Made by
    the first purge.
#}
{% macro _purge_ledger() %}
    {{ return(
        api.Relation.create(schema=var("alluvium_ledger_schema", target.schema), identifier="cdc_purge_ledger")
    ) }}
{% endmacro %}


{# Kept for good: a log that is built anew rejects the same lines of the same files again. #}
{% macro _released_lines() %}
    {{ return(alluvium._file_ledger().incorporate(path={"identifier": "cdc_released_lines"})) }}
{% endmacro %}


{#
    What each run did to each change log and state: one row per run and table that moved. Written once at the end of a
    run (record_run), so a run that is killed leaves no row; the next one counts from what the ledger has, by batch and
    by table version, and takes over what the killed one had done. The tables are the truth, this is their account.
#}
{% macro _run_ledger() %}
    {{ return(api.Relation.create(schema=var("alluvium_ledger_schema", target.schema), identifier="cdc_run_ledger")) }}
{% endmacro %}


{#
    Of the log; of the ledger; and of those of the ledger's entries that have a file. In a scalar subquery Delta answers
    the log's from its statistics, without a scan; in a union of the two it scans (3.3.3).
#}
{% macro _latest_batches_sql(change_log) -%}
    select
        ({{ alluvium._latest_log_batch_sql(change_log) }}) as log_batch,
        max(batch) as ledger_batch,
        max(if(file_path is null, null, batch)) as held_batch
    from {{ alluvium._file_ledger() }}
    where {{ alluvium._is_entry_of(change_log) }}
{%- endmacro %}


{% macro _latest_log_batch_sql(change_log) %}
    {{ return("select max(_cdc_batch) as batch from " ~ change_log) }}
{% endmacro %}


{% macro _latest_ledger_batch_sql(change_log) %}
    {{ return(
            "select max(batch) as batch from " ~ alluvium._file_ledger() ~ " where " ~ alluvium._is_entry_of(change_log)
        ) }}
{% endmacro %}
