{#
    Which listed files a change log does not hold yet, as runs of consecutive paths. A run becomes one literal
    `between`, so the predicate grows with the number of gaps, not with the number of files, and Spark prunes on
    literals where it would not on a join. No file time and no offset decides: a late file is simply not there yet.
    A file with lines that were rejected for a declaration which has changed since is read again.
#}
{% macro new_files(feed, change_log) %}
    {%- set listing = alluvium.file_listing(feed) -%}
    {#- One session may outlive many runs (Thrift server): Spark keeps a table's listing until it is told. -#}
    {%- do run_query("refresh table " ~ listing) -%}
    {%- do run_query("refresh table " ~ feed.relation) -%}
    {%- set runs = alluvium.query_rows(alluvium.file_runs_sql(
        listing, change_log, "(applied.file_path is null or applied.is_outdated)", alluvium.is_outdated(feed)
    )) -%}
    {#- What a run left that was killed after it had read files again. -#}
    {%- do alluvium.drop_superseded_rows(change_log) if runs | sum(attribute="superseded_count") -%}
    {%- if not runs -%}
        {#- Not refused: a table that nobody has changed yet has no folder in the bucket, and old files may be archived. -#}
        {%- do exceptions.warn(feed.name ~ ": no file found at " ~ feed.location ~ ". Is it the right place?") -%}
    {%- endif -%}
    {{ return(runs | selectattr("is_wanted") | list) }}
{% endmacro %}


{# The files that one batch of a change log holds, as the same runs. #}
{% macro files_of_batch(feed, change_log, batch) %}
    {%- set runs = alluvium.query_rows(alluvium.file_runs_sql(alluvium.file_listing(feed), change_log, "applied.batch <=> " ~ batch)) -%}
    {{ return(runs | selectattr("is_wanted") | list) }}
{% endmacro %}


{#
    Not so `<topic>+<partition>+<offset>.keys.avro` and `.headers.avro`: with store.kafka.keys and store.kafka.headers the Confluent
    sink writes them beside the values. Read as rows, keys would be rows of NULLs.
#}
{% macro holds_values(path) %}
    {{ return("not " ~ path ~ " rlike '[+][0-9]+[+][0-9]+[.](keys|headers)[.][^/]*$'") }}
{% endmacro %}


{# The external table that lists a source's files. #}
{% macro file_listing(feed) %}
    {{ return(api.Relation.create(schema=feed.relation.schema, identifier=feed.relation.identifier ~ "__files")) }}
{% endmacro %}


{#
    A full refresh reads the files anew; what came from a file that is gone would be gone with it, on a green run. A
    file that was landed anew with another length is there.
#}
{% macro refuse_missing_files(feed, change_log) %}
    {%- if not var("alluvium_rebuild_without_missing_files", false) -%}
        {%- do run_query("refresh table " ~ alluvium.file_listing(feed)) -%}
        {%- set missing = alluvium.query_rows(alluvium.missing_files_sql(alluvium.file_listing(feed), change_log))[0] -%}
        {%- if missing.file_count -%}
            {% do alluvium.raise_invalid(
                alluvium.decoder(feed) ~ ": source " ~ feed.name,
                "full refresh without " ~ missing.file_count ~ " of the files that " ~ change_log ~ " was read from, the first of them",
                missing.first_path,
                "bring them back, or give up their changes with --vars 'alluvium_rebuild_without_missing_files: true'",
            ) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro missing_files_sql(listing, change_log) -%}
    select
        count(*) as file_count,
        min(applied.file_path) as first_path
    from {{ alluvium.file_ledger() }} as applied
    where
        {{ alluvium.is_entry_of(change_log) }}
        and file_path is not null
        and not exists (
            select 1
            from {{ listing }} as listed
            where listed._metadata.file_path = applied.file_path
        )
{%- endmacro %}


{% macro file_runs_sql(listing, change_log, wanted, outdated="false") -%}
    with listed as (
        select distinct
            _metadata.file_path as file_path,
            _metadata.file_size as file_length
        from {{ listing }}
        where
            length > 0
            and {{ alluvium.holds_values("_metadata.file_path") }}
    ),
    applied as (
        select
            file_path,
            file_length,
            max(batch) as batch,
            max_by({{ outdated }}, batch) as is_outdated,
            count(distinct batch) - 1 as superseded_count
        from {{ alluvium.file_ledger() }}
        where {{ alluvium.is_entry_of(change_log) if change_log else "false" }}
        group by file_path, file_length
    ),
    compared as (
        select
            listed.file_path,
            listed.file_length,
            applied.is_outdated,
            applied.superseded_count,
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
        is_wanted,
        min(file_path) as first_path,
        max(file_path) as last_path,
        count(*) as file_count,
        count_if(file_path like '%.gz') as gzip_count,
        count_if(is_outdated) as outdated_count,
        coalesce(sum(superseded_count), 0) as superseded_count,
        sum(file_length) as bytes
    from runs
    group by is_wanted, run
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
