{#
    A change log without the transactions that have not arrived whole, nor what was committed after the first of these:
    states and histories that read it move from one complete transaction to the next, all tables of one
    `transaction_status` alike. Its rows are those of the log, and come later; so it has batches of its own.
    The whole body of a model of its own:
    {{ complete_transactions(ref('stg_shop__orders'), ref('stg_shop__transaction_status')) }}
#}
{% macro complete_transactions(change_log, status) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("complete_change_log") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium._require_incremental("complete_transactions", "append") -%}
    {%- do alluvium._require_kind_of_input("complete_transactions", "change_log", change_log, ["change_log"]) -%}
    {%- do alluvium._require_kind_of_input("complete_transactions", "status", status, ["transaction_status"]) -%}
    {%- set feed = alluvium._feed_of_own_log("complete_transactions", change_log) -%}
    {%- set cut = alluvium._next_cut(change_log, status) -%}
    {#- Without news, too, the model runs in full where its table lacks a column, so that dbt adds it. -#}
    {%- if cut and is_incremental() and not alluvium._apply_schema_change(feed) -%}
        {%- do cut.update({"is_level": false}) -%}
    {%- endif -%}
    {%- set names =
        alluvium._columns_in_relation(change_log) | map(attribute="name") | reject("equalto", "_cdc_batch") | list -%}
    {{ return(alluvium._whole_body(alluvium._complete_transactions_sql(change_log, names, cut))) }}
{% endmacro %}


{% macro _complete_transactions_sql(change_log, names, cut) -%}
{%- if not cut or not names -%}
select *
from {{ change_log }}
{%- elif cut.is_level -%}
-- Every row of a complete transaction is here.
select *
from {{ this }}
where false
{%- else -%}
{{ alluvium._rows_of_cut(change_log, names, cut) }}
{%- endif -%}
{%- endmacro %}


{#
    From where to where the log is read: up to the batch that the status knows, below the position where the first
    incomplete transaction begins; again from where the last cut was, since what lay above it was held back. A position
    may be lower than the last: a late transaction may be incomplete, too.
#}
{% macro _next_cut(change_log, status) %}
    {%- if not alluvium._is_run() or flags.EMPTY -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set has_table = load_relation(this) is not none -%}
    {%- set counted = alluvium._query_rows(alluvium._counted_until_sql(change_log, status))[0] -%}
    {%- if counted.batch is none -%}
        {% do alluvium._raise_invalid(
            "complete_transactions: model " ~ model.name, "change log", change_log.render(),
            "one of those that " ~ status ~ " counts"
        ) %}
    {%- endif -%}
    {%- set properties = alluvium._cut_properties(this) if has_table and is_incremental() else {} -%}
    {%- set cut = {
        "number": (
            [alluvium._latest_log_batch(this) if has_table else 0, alluvium._latest_batch_of_readers(model)] | max
        ) + 1,
        "until": counted.batch | int,
        "below": counted.position,
        "after": properties.get("cut_batch", 0) | int,
        "from": properties.get("cut_position"),
        "written": properties.get("cut_number", 0) | int if is_incremental() else none,
    } -%}
    {%- do cut.update({"is_level": is_incremental() and cut.after == cut.until and cut.below == cut["from"]}) -%}
    {%- do alluvium._remember("new_files", this, 0 if cut.is_level else 1) -%}
    {%- do alluvium._remember(
        "cut", this,
        {
            "change_log": change_log.render(), "cut_batch": cut.until, "cut_position": cut.below or "",
            "generation": alluvium._generation(change_log), "is_built_anew": has_table and not is_incremental()
        }
    ) -%}
    {{ return(cut) }}
{% endmacro %}


{#
    Both from one commit of the status: the newest batch that it counts, and where the first transaction begins that is
    not whole.
#}
{% macro _counted_until_sql(change_log, status) -%}
    select
        max(arrived[{{ alluvium._string_literal(change_log.identifier) }}]) filter (where transaction_id = '') as batch,
        min(first_position) filter (where not is_complete) as position
    from {{ status }}
    where
        not is_complete
        or transaction_id = ''
{%- endmacro %}


{#
    Where the last cut was: the log's batch, the position that it ended below (none: it did not), and the newest batch
    here.
#}
{% macro _cut_properties(table) %}
    {%- set properties = {} -%}
    {%- for name, value in alluvium._table_properties(table).items() if name.startswith("cut_") and value -%}
        {%- do properties.update({name: value}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{#
    What a killed run has appended, and what was here before a cut that lies lower, is not appended again: both are
    looked for among the newest batches and the newest positions alone.
#}
{% macro _rows_of_cut(change_log, names, cut) -%}
select
    {{ alluvium._column_list(names, "_cdc_logged.") | join(",\n    ") }},
    cast({{ cut.number }} as bigint) as _cdc_batch
from {{ change_log }} as _cdc_logged
where
    _cdc_logged._cdc_batch <= {{ cut.until }}
    {%- if cut.below %}
    and (_cdc_logged._cdc_position is null or _cdc_logged._cdc_position < {{ alluvium._string_literal(cut.below) }})
    {%- endif %}
    {%- if cut.written is not none %}
    and (
        _cdc_logged._cdc_batch > {{ cut.after }}
        {%- if cut["from"] %}
        or _cdc_logged._cdc_position >= {{ alluvium._string_literal(cut["from"]) }}
        {%- endif %}
    )
    and not exists (
        select 1
        from {{ this }} as appended
        where
            (
                appended._cdc_batch > {{ cut.written }}
                {%- if cut["from"] %}
                or appended._cdc_position >= {{ alluvium._string_literal(cut["from"]) }}
                {%- endif %}
            )
            and appended._cdc_file_path = _cdc_logged._cdc_file_path
            and appended._cdc_file_length = _cdc_logged._cdc_file_length
            and appended._cdc_line <=> _cdc_logged._cdc_line
            -- A line that was rejected, and has been read again since, is another row.
            and (appended._cdc_reject_reason is null) = (_cdc_logged._cdc_reject_reason is null)
    )
    -- Read with the table that it is appended to, so that Delta stops the later of two runs that append at once.
    and {{ alluvium._not_logged_since({"after": cut.number - 1}) | indent(4) }}
    {%- endif %}
{%- endmacro %}


{#
    Rejected lines that the log no longer has, because their files have been read again, once their mended rows are
    here: they would keep a snapshot from deleting for ever. Purged as in _drop_superseded_rows.
#}
{% macro _drop_corrected_rows(table, change_log) %}
    {%- if alluvium._query_rows(
        "select count(*) as row_count from (" ~ alluvium._corrected_rows_sql(table, change_log) ~ ") as mended"
    )[0].row_count -%}
        {%- do run_query(alluvium._drop_corrected_rows_sql(table, change_log)) -%}
        {%- do run_query("reorg table " ~ table ~ " apply (purge)") -%}
    {%- endif -%}
{% endmacro %}


{% macro _drop_corrected_rows_sql(table, change_log) -%}
    merge into {{ table }} as held
    using (
        {{ alluvium._corrected_rows_sql(table, change_log) | indent(8) }}
    ) as mended
    on
        held._cdc_reject_reason is not null
        and held._cdc_file_path = mended._cdc_file_path
        and held._cdc_file_length = mended._cdc_file_length
        and held._cdc_line <=> mended._cdc_line
    when matched
        then delete
{%- endmacro %}


{% macro _corrected_rows_sql(table, change_log) -%}
select
    rejected._cdc_file_path,
    rejected._cdc_file_length,
    rejected._cdc_line
from {{ table }} as rejected
-- As long as the mended row is held back its rejection stands for it.
inner join {{ table }} as mended
    on mended._cdc_reject_reason is null
    and mended._cdc_file_path = rejected._cdc_file_path
    and mended._cdc_file_length = rejected._cdc_file_length
    and mended._cdc_line = rejected._cdc_line
left anti join {{ change_log }} as logged
    on logged._cdc_reject_reason is not null
    and logged._cdc_file_path = rejected._cdc_file_path
    and logged._cdc_file_length = rejected._cdc_file_length
    and logged._cdc_line <=> rejected._cdc_line
where rejected._cdc_reject_reason is not null
{%- endmacro %}
