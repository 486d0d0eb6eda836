{#
    Which listed files a change log does not hold yet, as runs of consecutive paths. A run becomes one literal
    `between`, so the predicate grows with the number of gaps, not with the number of files, and Spark prunes on
    literals where it would not on a join. No file time and no offset decides: a late file is simply not there yet.
#}
{% macro new_files(feed, change_log) %}
    {%- set listing = api.Relation.create(schema=feed.relation.schema, identifier=feed.relation.identifier ~ "__files") -%}
    {#- One session may outlive many runs (Thrift server): Spark keeps a table's listing until it is told. -#}
    {%- do run_query("refresh table " ~ listing) -%}
    {%- do run_query("refresh table " ~ feed.relation) -%}
    {{ return(alluvium.query_rows(alluvium.file_runs_sql(listing, change_log, "applied.file_path is null"))) }}
{% endmacro %}


{# The files that one batch of a change log holds, as the same runs. #}
{% macro files_of_batch(feed, change_log, batch) %}
    {%- set listing = api.Relation.create(schema=feed.relation.schema, identifier=feed.relation.identifier ~ "__files") -%}
    {{ return(alluvium.query_rows(alluvium.file_runs_sql(listing, change_log, "applied.batch <=> " ~ batch))) }}
{% endmacro %}


{% macro file_runs_sql(listing, change_log, wanted) -%}
    with listed as (
        select distinct
            _metadata.file_path as file_path,
            _metadata.file_size as file_length
        from {{ listing }}
        where length > 0
    ),
    applied as (
        select
            file_path,
            file_length,
            max(batch) as batch
        from {{ alluvium.file_ledger() }}
        where change_log = {{ alluvium.string_literal(change_log.render() if change_log else "") }}
        group by file_path, file_length
    ),
    compared as (
        select
            listed.file_path,
            listed.file_length,
            {{ wanted }} as is_wanted
        from listed
        left join applied
            on listed.file_path = applied.file_path
            and listed.file_length = applied.file_length
    ),
    {# Neighbours of one kind share the difference of the two row numbers. #}
    runs as (
        select
            *,
            row_number() over (order by file_path)
            - row_number() over (partition by is_wanted order by file_path) as run
        from compared
    )
    select
        min(file_path) as first_path,
        max(file_path) as last_path,
        count(*) as file_count,
        count_if(file_path like '%.gz') as gzip_count,
        sum(file_length) as bytes
    from runs
    where is_wanted
    group by run
    order by first_path
{%- endmacro %}


{# The literal predicate over the runs of new_files(). #}
{% macro file_predicate(runs) -%}
    {%- if not runs -%}
        false
    {%- else -%}
        (
        {%- for run in runs %}
            {% if run.first_path == run.last_path -%}
            _metadata.file_path = {{ alluvium.string_literal(run.first_path) }}
            {%- else -%}
            _metadata.file_path between {{ alluvium.string_literal(run.first_path) }} and {{ alluvium.string_literal(run.last_path) }}
            {%- endif %}
            {%- if not loop.last %}
            or
            {%- endif -%}
        {% endfor %}
        )
    {%- endif -%}
{%- endmacro %}
