{# The files of a change log's newest batch whose lines are not all in it, once, or not as the ledger has them. #}
{% macro _unaccounted_lines(change_log) -%}
    {%- set feed = alluvium._feed_of_relation("unaccounted_lines", change_log) -%}
    {%- if not alluvium._may_query() -%}
        {#- Every file is read then: only those of the batch are compared. -#}
        {{ return(
            alluvium._unaccounted_lines_sql(feed, change_log, "(select max(_cdc_batch) from " ~ change_log ~ ")", none)
        ) }}
    {%- endif -%}
    {%- set batch = alluvium._latest_batch(change_log) -%}
    {%- set is_plain = alluvium._remembered("is_plain", change_log) or false -%}
    {{ return(
        alluvium._unaccounted_lines_sql(
            feed, change_log, batch, alluvium._files_of_batch(feed, change_log, batch), is_plain
        )
    ) }}
{%- endmacro %}


{% macro _unaccounted_lines_sql(feed, change_log, batch, files, is_plain=false) -%}
with bronze as (
    select
        file_path,
        file_length,
        count_if(value is not null or read_error is not null) as line_count
    from (
        {{ alluvium._bronze_records(feed, files, is_plain) | indent(8) }}
    ) as records
    group by file_path, file_length
),

silver as (
    select
        _cdc_file_path as file_path,
        _cdc_file_length as file_length,
        count_if(_cdc_kind <> 'empty_file') as line_count,
        count(distinct _cdc_line) - count_if(_cdc_kind = 'empty_file') as distinct_line_count
    from {{ change_log }}
    where _cdc_batch = {{ batch }}
    group by _cdc_file_path, _cdc_file_length
),

ledger as (
    select
        file_path,
        file_length,
        line_count,
        change_count + rejected_count + control_count as counted
    from {{ alluvium._file_ledger() }}
    where
        {{ alluvium._is_entry_of(change_log) }}
        and batch = {{ batch }}
)

select
    coalesce(bronze.file_path, silver.file_path, ledger.file_path) as file_path,
    bronze.line_count as lines_in_bronze,
    silver.line_count as lines_in_change_log,
    silver.distinct_line_count,
    ledger.line_count as lines_in_ledger,
    ledger.counted as lines_by_kind_in_ledger
from silver
full outer join ledger on silver.file_path = ledger.file_path and silver.file_length = ledger.file_length
-- A file that was landed anew with another length since is another file: it is counted with its own batch.
full outer join bronze
    on coalesce(silver.file_path, ledger.file_path) = bronze.file_path
    and coalesce(silver.file_length, ledger.file_length) = bronze.file_length
where
    not (silver.line_count <=> ledger.line_count)
    or not (silver.line_count <=> ledger.counted)
    or not (silver.line_count <=> silver.distinct_line_count)
    or (bronze.file_path is not null and silver.file_path is not null and bronze.line_count <> silver.line_count)
{%- endmacro %}


{#
    How many rejected lines of a change log are not released, and whether these are too many: more rows than
    `fail_above`, or a larger share of the latest batch (`5 %`, the default). With any threshold they are where no line
    could be decoded: then the feed is not what its declaration says.
#}
{% macro _rejected_above_threshold(change_log) -%}
{%- set limit = alluvium._feed_of_relation("rejected_within_threshold", change_log).quarantine.get(
    "fail_above", alluvium._feed_defaults().quarantine.fail_above
) -%}
{%- set share = alluvium._share_of_threshold(limit) -%}
{%- set batch =
    alluvium._latest_batch(change_log) if alluvium._may_query()
    else "(select max(_cdc_batch) from " ~ change_log ~ ")" -%}
select
    rejected_count,
    (
        {#- Spark (3.5) has no `exists` here. #}
        select count(*)
        from (select 1 from {{ change_log }} where {{ alluvium._is_decoded() }} limit 1) as decoded
    ) = 0
    {%- if share is none %}
    or rejected_count > {{ limit }}
    {%- else %}
    or 100 * new_rejected_count > {{ share }} * (new_rejected_count + (
        select count(*)
        from {{ change_log }}
        where
            _cdc_batch = {{ batch }}
            and {{ alluvium._is_decoded() }}
    ))
    {%- endif %} as is_above_threshold
from (
    select
        count(*) as rejected_count,
        count_if(rejected._cdc_batch = {{ batch }}) as new_rejected_count
    from {{ change_log }} as rejected
    where
        rejected._cdc_reject_reason is not null
        and {{ alluvium._is_not_released(change_log, "rejected") | indent(8) }}
) as counted
where rejected_count > 0
{%- endmacro %}


{% macro _is_decoded() %}
    {{ return("_cdc_kind in ('change', 'truncate', 'purged')") }}
{% endmacro %}


{# The first of them, the latest batch's before others, in words. #}
{% macro _first_rejected_lines(change_log) %}
    {%- set lines = [] -%}
    {%- for row in alluvium._query_rows(alluvium._first_rejected_lines_sql(change_log)) -%}
        {%- do lines.append(
            row.reason ~ (" (" ~ row.detail ~ ")" if row.detail else "") ~ " at " ~ row.path ~ " line " ~ row.line
        ) -%}
    {%- endfor -%}
    {{ return(lines | join("; ")) }}
{% endmacro %}


{% macro _first_rejected_lines_sql(change_log) -%}
select
    _cdc_reject_reason as reason,
    left(_cdc_reject_detail, 200) as detail,
    _cdc_file_path as path,
    _cdc_line as line
from {{ change_log }} as rejected
where
    _cdc_reject_reason is not null
    and {{ alluvium._is_not_released(change_log, "rejected") | indent(4) }}
order by _cdc_batch desc, _cdc_file_path, _cdc_line
limit 3
{%- endmacro %}


{# What a state cannot know of a row: a value of it, or of a table without a key how many there are. #}
{% macro _is_unresolved(state) %}
    {{ return(
        "_cdc_unresolved_columns is not null and not _is_deleted"
        if alluvium._feed_of_relation("unresolved_within_threshold", state).key
        else alluvium._has_undecided_count()
    ) }}
{% endmacro %}


{# Reads nothing where no number of rows would be too many. #}
{% macro _unresolved_above_threshold(state) -%}
{%- set threshold = alluvium._feed_of_relation("unresolved_within_threshold", state).unresolved.get("fail_above") -%}
{%- if threshold is none -%}
-- The source's YAML sets no threshold.
select 0 as unresolved_count
where false
{%- else -%}
select unresolved_count
from (
    select count(*) as unresolved_count
    from {{ state }}
    where {{ alluvium._is_unresolved(state) }}
) as counted
where unresolved_count > {{ threshold }}
{%- endif -%}
{%- endmacro %}
