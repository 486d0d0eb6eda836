{#
    Deletes files that no version of a table of the last `retention_hours` needs: Delta's VACUUM, Hudi's cleaning.
    Versions that are older can be read no more. dbt run-operation vacuum_tables --args '{retention_hours: 720, dry_run:
    false}' Delta refuses less than a table's `delta.deletedFileRetentionDuration`, 168 hours by default: a run or a
    query of that length may still need the files. `allow_short_retention` takes that check away, for a time when
    nothing else runs; values of rows that were deleted are gone then.
#}
{% macro vacuum_tables(models=none, retention_hours=168, allow_short_retention=false, dry_run=true) %}
    {%- if execute -%}
        {%- do alluvium._require_dry_run("vacuum_tables", dry_run) -%}
        {%- do
            alluvium._require_one_of("vacuum_tables", "allow_short_retention", allow_short_retention, [true, false]) -%}
        {%- if retention_hours is not integer or retention_hours < (0 if allow_short_retention else 168) -%}
            {% do alluvium._raise_invalid(
                "vacuum_tables", "retention_hours", retention_hours,
                "a number of hours" if allow_short_retention
                else "a number of hours from 168 on; below that with `allow_short_retention: true`, while nothing else "
                "runs",
            ) %}
        {%- endif -%}
        {%- set tables = alluvium._tables_to_maintain("vacuum_tables", models) -%}
        {{ return(alluvium._vacuum(tables, retention_hours, allow_short_retention, dry_run)) }}
    {%- endif -%}
{% endmacro %}


{#
    Delta lists a table's folder in as many tasks as Spark may use to discover partitions, 10,000 by default: 229 s for
    a table of some files on a busy machine (measured, Delta 3.3.3).
#}
{% macro _vacuum(tables, retention_hours, allow_short_retention, dry_run) %}
    {%- set settings = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": 32} -%}
    {%- do
        settings.update({"spark.databricks.delta.retentionDurationCheck.enabled": "false"}) if allow_short_retention -%}
    {%- for name, value in settings.items() -%}
        {%- do run_query("set " ~ name ~ " = " ~ value) -%}
    {%- endfor -%}
    {%- set rows = [] -%}
    {%- for table in tables -%}
        {#- Hudi's cleaning has no dry run. -#}
        {%- set is_asked = not dry_run or table.file_format == "delta" -%}
        {%- set found =
            alluvium._maintain(table, alluvium._vacuum_sql(table, retention_hours) ~ (" dry run" if dry_run else ""))
            if is_asked else [] -%}
        {%- do rows.append(
            [table.relation.render()] + ([found | length if is_asked else "not known"] if dry_run else [])
        ) -%}
    {%- endfor -%}
    {%- for name in settings -%}
        {%- do run_query("reset " ~ name) -%}
    {%- endfor -%}
    {%- do alluvium._show_table(
        ["table" if dry_run else "vacuumed"] + (["files to delete (at most 1000 are counted)"] if dry_run else []), rows
    ) -%}
    {%- do alluvium._announce_dry_run("vacuum_tables") if dry_run -%}
{% endmacro %}


{#
    By file format. Hudi's policy of hours deletes nothing where no commit is newer than that (1.2.0), as on a table
    whose rows did not change since; whatever a newer file has taken the place of is as old then, so one version of each
    file is kept.
#}
{% macro _vacuum_sql(table, retention_hours) %}
    {%- if table.file_format != "hudi" -%}
        {{ return("vacuum " ~ table.relation ~ " retain " ~ retention_hours ~ " hours") }}
    {%- endif -%}
    {%- set is_older =
        alluvium._query_rows(alluvium._is_latest_commit_older_sql(table.relation, retention_hours))[0].is_older -%}
    {{ return("call run_clean(table => '" ~ table.relation ~ "', " ~ (
        "clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1" if is_older
        else "clean_policy => 'KEEP_LATEST_BY_HOURS', hours_retained => " ~ retention_hours
    ) ~ ")") }}
{% endmacro %}


{% macro _is_latest_commit_older_sql(table, hours) -%}
{%- set newest = alluvium._latest_commit_of_hudi(table).commit_time -%}
    select
        {{ alluvium._string_literal(newest) }} <= {{ alluvium._instant_of_hudi("- interval " ~ hours ~ " hours") }}
        as is_older
{%- endmacro %}
