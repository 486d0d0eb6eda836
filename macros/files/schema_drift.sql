{#
    An absent column is drift where an older event had it, or none ever did: before a column was added, its absence is
    none. One that is unknown first in the file in which another is absent first may be that one under a new name; the
    stream does not say.
#}
{% macro _schema_drift(ledger) -%}
with files as (
    select *
    from {{ ledger }}
    where file_path is not null
),

absent_columns as (
    select
        columns.change_log,
        columns.column_name,
        max(if(array_contains(files.absent_columns, columns.column_name), null, files.last_position)) as present_until
    from (select distinct change_log, explode(absent_columns) as column_name from files) as columns
    inner join files on columns.change_log = files.change_log
    group by columns.change_log, columns.column_name
),

differences as (
    select change_log, 'unknown' as difference, column_name, declared_as, batch, recorded_at, file_path, last_position
    from files
        lateral view explode(unknown_columns) columns as column_name, declared_as
    union all
    select change_log, 'misfit' as difference, column_name, declared_as, batch, recorded_at, file_path, last_position
    from files
        lateral view explode(misfit_columns) columns as column_name, declared_as
    union all
    select
        absent_columns.change_log,
        if(present_until is null, 'never_seen', 'absent') as difference,
        absent_columns.column_name,
        null as declared_as,
        batch,
        recorded_at,
        file_path,
        last_position
    from absent_columns
    inner join files
        on absent_columns.change_log = files.change_log
        and array_contains(files.absent_columns, absent_columns.column_name)
        and files.last_position > coalesce(absent_columns.present_until, '')
),

drift as (
    select
        change_log,
        difference,
        column_name,
        max_by(declared_as, batch) as declared_as,
        count(*) as file_count,
        min(batch) as first_batch,
        max(batch) as last_batch,
        min(recorded_at) as first_recorded_at,
        min_by(file_path, coalesce(last_position, '')) as first_file_path
    from differences
    group by change_log, difference, column_name
)

select
    *,
    if(difference = 'unknown', nullif(
        collect_set(if(difference = 'absent', column_name, null)) over (partition by change_log, first_file_path),
        array()
    ), null) as may_be_renamed_from
from drift
{%- endmacro %}


{#
    How the columns in a log's files differ from the declared ones, kept in the ledger by file: fields that are not
    declared and what is done with such (unknown_columns of meta.cdc), columns whose values were rejected and how they
    were declared then, and the columns that the file's newest event lacks. What is declared otherwise since shows which
    files to read again; over all files it is the drift of the source's schema.
#}
{% macro _create_schema_drift_sql(ledger) -%}
    create view if not exists {{ alluvium._schema_drift_view() }} as
    {{ alluvium._schema_drift(ledger) | indent(4) }}
{%- endmacro %}


{% macro _schema_drift_view() %}
    {{ return(alluvium._file_ledger().incorporate(path={"identifier": "cdc_schema_drift"})) }}
{% endmacro %}


{# The ledger's columns about differences. #}
{% macro _difference_columns() -%}
unknown_columns map<string,string> comment 'policy by field that is not declared',
misfit_columns map<string,string> comment 'declaration by column with rejected values',
absent_columns array<string> comment 'declared columns that the newest event of the file lacks',
last_position string comment 'position of that event'
{%- endmacro %}


{#
    The aggregates over the rows of one file in a change log that _file_differences needs. A delete may have the key
    alone.
#}
{% macro _collected_differences() -%}
array_distinct(flatten(collect_set(_cdc_unknown_columns))) as unknown_names,
array_distinct(flatten(collect_set(
    if(_cdc_reject_reason in ('type_misfit', 'ambiguous_unit'), split(_cdc_reject_detail, ', '), null)
))) as misfit_names,
max_by(coalesce(_cdc_absent_columns, array()), _cdc_position)
    filter (where _cdc_op in ('c', 'u', 'r')) as absent_columns,
max(_cdc_position) filter (where _cdc_op in ('c', 'u', 'r')) as last_position
{%- endmacro %}


{# The expressions of the ledger's columns about differences, over _collected_differences. #}
{% macro _file_differences(feed) -%}
map_from_entries(transform(
    {{ alluvium._array_or_null("unknown_names") }}, name -> struct(name, '{{ feed.unknown_columns }}')
)) as unknown_columns,
map_from_entries(transform(
    {{ alluvium._array_or_null("misfit_names") }}, name -> struct(name, {{ alluvium._declarations(feed) }}[name])
)) as misfit_columns,
absent_columns,
last_position
{%- endmacro %}


{# The literal map of what each column is declared as: its type, and what says how its values are encoded. #}
{% macro _declarations(feed) %}
    {%- set entries = [] -%}
    {%- for column in alluvium._declared_columns(feed) -%}
        {%- do entries.append(
            alluvium._string_literal(column.name) ~ ", " ~ alluvium._string_literal(alluvium._declaration(column, feed))
        ) -%}
    {%- endfor -%}
    {{ return("map(" ~ entries | join(", ") ~ ")") }}
{% endmacro %}


{# Declared is another thing than taken by default: it ends an ambiguity. #}
{% macro _declaration(column, feed) %}
    {%- set type = column.data_type -%}
    {%- set semantic_type = column.cdc.semantic_type or "" -%}
    {{ return([
        type,
        semantic_type,
        feed.time_precision_mode if "date" in type or "timestamp" in type or "Time" in semantic_type,
        feed.decimal_handling_mode ~ ", " ~ feed.decimal_format if "decimal" in type,
        feed.binary_handling_mode if "binary" in type,
        feed.bigint_unsigned_handling_mode if column.cdc.unsigned,
    ] | select | join(", ")) }}
{% endmacro %}


{#
    The condition on a file's entry that lines of it were rejected for a column that is declared now, or declared
    otherwise, or that it is to be replayed.
#}
{% macro _is_outdated(feed) -%}
    {%- set names = alluvium._literal_array(alluvium._declared_columns(feed) | map(attribute="name")) -%}
    coalesce(
                exists(
                    map_entries(unknown_columns),
                    field -> field.value = 'quarantine'
                        {%- if feed.unknown_columns == "quarantine" %}
                        and array_contains({{ names }}, field.key)
                        {%- endif %}
                ),
                false
            )
            or coalesce(
                exists(
                    map_entries(misfit_columns),
                    field -> not {{ alluvium._declarations(feed) }}[field.key] <=> field.value
                ),
                false
            )
            or replay_requested_at is not null
{%- endmacro %}


{#
    A file that was read again has its rows in two batches until the older ones are taken out. What is behind the log
    has applied them, or takes the newer ones: they are the same rows, but for those that were rejected. Merged, because
    Delta's delete takes no subquery (3.3.3); the deletion vectors are purged, since Delta does not know the newest
    batch without a scan where there are some.
#}
{% macro _drop_superseded_rows(change_log) %}
    {#- First, since the request goes with the older entry: a run that is killed in here begins here again. -#}
    {%- do alluvium._set_generation(change_log)
        if alluvium._query_rows(alluvium._replayed_files_sql(change_log))[0].file_count -%}
    {%- do run_query(alluvium._drop_superseded_rows_sql(change_log)) -%}
    {%- do run_query("reorg table " ~ change_log ~ " apply (purge)") -%}
    {%- do run_query(alluvium._drop_superseded_entries_sql(change_log)) -%}
{% endmacro %}


{% macro _drop_superseded_rows_sql(change_log) -%}
    merge into {{ change_log }} as logged
    using (
        {{ alluvium._files_read_again(change_log) | indent(8) }}
    ) as again
    on logged._cdc_file_path = again.file_path and logged._cdc_file_length = again.file_length
    when matched and logged._cdc_batch < again.batch
        then delete
{%- endmacro %}


{% macro _drop_superseded_entries_sql(change_log) -%}
    merge into {{ alluvium._file_ledger() }} as entry
    using (
        {{ alluvium._files_read_again(change_log) | indent(8) }}
    ) as again
    on entry.{{ alluvium._is_entry_of(change_log) }}
        and entry.file_path = again.file_path
        and entry.file_length = again.file_length
    when matched and entry.batch < again.batch
        then delete
{%- endmacro %}


{% macro _files_read_again(change_log) -%}
select
    file_path,
    file_length,
    max(batch) as batch,
    max(replay_requested_at) as replay_requested_at
from {{ alluvium._file_ledger() }}
where
    {{ alluvium._is_entry_of(change_log) }}
    and file_path is not null
group by file_path, file_length
having count(distinct batch) > 1
{%- endmacro %}


{#
    Their lines may have other values now, or be none any more, at the positions of before: no guard lets that through.
    Of a file that was read again for a declaration that has changed the lines that were accepted are the same.
#}
{% macro _replayed_files_sql(change_log) -%}
select count(replay_requested_at) as file_count
from (
    {{ alluvium._files_read_again(change_log) | indent(4) }}
) as again
{%- endmacro %}


{# Said once, by the run that brings the first file without the column. #}
{% macro _announce_absent_columns(change_log, counted) %}
    {%- if counted.absent_count -%}
        {%- set absent = alluvium._query_rows(
            "select column_name from " ~ alluvium._schema_drift_view() ~ " where " ~ alluvium._is_entry_of(change_log)
            ~ " and difference = 'absent' and first_batch = " ~ counted.batch ~ " order by column_name"
        ) -%}
        {%- if absent -%}
            {%- do alluvium._warn(
                change_log.identifier ~ ": declared columns that the newest events do not have: "
                ~ absent | map(attribute="column_name") | join(", ")
                ~ ". Dropped, renamed or misspelt? `select * from " ~ alluvium._schema_drift_view()
                ~ "` says since when"
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
