{#
    Which listed files a change log does not hold yet, as runs of consecutive paths. A run becomes one literal
    `between`, so the predicate grows with the number of gaps, not with the number of files, and Spark prunes on
    literals where it would not on a join. No file time and no offset decides: a late file is simply not there yet.
    A file with lines that were rejected for a declaration which has changed since is read again.
#}
{% macro _new_files(feed, change_log, runs) %}
    {#- What a run left that was killed after it had read files again. -#}
    {%- do alluvium._drop_superseded_rows(change_log) if runs | sum(attribute="superseded_count") -%}
    {%- do alluvium._warn_of_other_declaration(feed, change_log, runs) -%}
    {%- set wanted = runs | selectattr("is_wanted") | list -%}
    {%- do run_query("refresh table " ~ feed.relation) if wanted -%}
    {%- if not runs -%}
        {#-
            Not refused: a table that nobody has changed yet has no folder in the bucket, and old files may be archived.
        -#}
        {%- do alluvium._warn(
            feed.name ~ ": no file found at " ~ feed.location
            ~ ". Is it the right place? Spark lists nothing whose name, or whose folder's, begins with _ or ."
        ) -%}
    {%- elif not wanted -%}
        {%- do alluvium._warn_of_partition(feed) -%}
    {%- endif -%}
    {{ return(wanted) }}
{% endmacro %}


{#
    All listed files, as the same runs; each with the latest batches (_latest_batches_sql), which saves a query of their
    own. Each log asks for itself. One query for the 26 logs of the demo took 42 s, where two threads take 25 s for 26
    queries (Spark 3.5, Delta 3.3.3): Delta reads the logs of its tables one after the other. And one folder that cannot
    be read would stop every log.
#}
{% macro _listed_files(feed, change_log) %}
    {%- set listing = alluvium._file_listing(feed) -%}
    {#- One session may outlive many runs (Thrift server): Spark keeps a table's listing until it is told. -#}
    {%- do run_query("refresh table " ~ listing) if not alluvium._is_session_of_this_run() -%}
    {{ return(alluvium._query_rows(alluvium._file_runs_sql(
        listing, change_log, "(batch is null or is_outdated)", alluvium._is_outdated(feed),
        "(" ~ alluvium._latest_log_batch_sql(change_log) ~ ") as log_batch" if change_log else "",
    ))) }}
{% endmacro %}


{#
    By its name: what Hadoop's text reader would decode by its extension, or fail to, and containers. In capital
    letters, too: Spark (3.5) would read `a.JSON.GZ` as text.
#}
{% macro _is_container(path) %}
    {%- set extensions =
        ["gz", "bz2", "zst", "zstd", "snappy", "lz4", "lzo", "xz", "deflate", "avro", "parquet"] -%}
    {{ return(
        "substring_index(lower(" ~ path ~ "), '.', -1) in (" ~ alluvium._string_literals(extensions) ~ ")"
    ) }}
{% endmacro %}


{#
    Files of the next day land beside the folder of one day, where no run looks. As alluvium.inspection.names tells
    partitions.
#}
{% macro _warn_of_partition(feed) %}
    {%- set folder = feed.location.rstrip("/").split("/") | last -%}
    {%- if modules.re.fullmatch(
        "(?i)(?!(table|table_?name|topic|entity|collection)=)[^=]+=.*"
        "|(?:(year|month|day|hour|date|dt|ds)[-_.])?((19|20)\\d\\d([-_.]?\\d\\d){0,2}|\\d\\d?)",
        folder
    ) -%}
        {%- do alluvium._warn(
            feed.name ~ ": nothing new at " ~ feed.location
            ~ ", which is the folder of one partition. What lands in the next one is not read:"
            ~ " declare the folder above as `external.location`."
        ) -%}
    {%- endif -%}
{% endmacro %}


{# The files that one batch of a change log holds, as the same runs; not asked if this run has read them. #}
{% macro _files_of_batch(feed, change_log, batch) %}
    {%- set read = alluvium._remembered("files_of_batch." ~ batch, change_log) -%}
    {%- if read is not none -%}
        {{ return(read) }}
    {%- endif -%}
    {%- set runs = alluvium._query_rows(
        alluvium._file_runs_sql(alluvium._file_listing(feed), change_log, "batch <=> " ~ batch)
    ) -%}
    {{ return(runs | selectattr("is_wanted") | list) }}
{% endmacro %}


{#
    Not so `<topic>+<partition>+<offset>.keys.avro` and `.headers.avro`: with store.kafka.keys and store.kafka.headers
    the Confluent sink writes them beside the values. Read as rows, keys would be rows of NULLs. The pattern, which is
    slow for something that each line is asked, is tried on few paths.
#}
{% macro _holds_values(path) %}
    {{ return(
        "not ((contains(" ~ path ~ ", '.keys.') or contains(" ~ path ~ ", '.headers.')) and " ~ path
        ~ " rlike '[+][0-9]+[+][0-9]+[.](keys|headers)[.][^/]*$')"
    ) }}
{% endmacro %}


{# The external table that lists a source's files. #}
{% macro _file_listing(feed) %}
    {{ return(api.Relation.create(schema=feed.relation.schema, identifier=feed.relation.identifier ~ "__files")) }}
{% endmacro %}


{#
    A full refresh reads the files anew; what came from a file that is gone would be gone with it, on a green run, and
    so would what a file has lost that was landed anew with another length.
#}
{% macro _require_no_missing_files(feed, change_log) %}
    {%- if not var("alluvium_rebuild_without_missing_files", false) -%}
        {%- set listing = alluvium._file_listing(feed) -%}
        {%- do run_query("refresh table " ~ listing) -%}
        {%- set missing = alluvium._query_rows(alluvium._missing_files_sql(listing, change_log))[0] -%}
        {%- do alluvium._raise_lost(
                feed, "without " ~ missing.file_count ~ " of the files that " ~ change_log ~ " was read from",
                missing.first_path
            )
            if missing.file_count -%}
        {%- if missing.rewritten_count -%}
            {%- set lost = alluvium._query_rows(alluvium._lost_changes_sql(feed, listing, change_log))[0] -%}
            {%- do alluvium._raise_lost(
                feed,
                "without " ~ lost.change_count ~ " changes of " ~ change_log
                ~ " that files had before they were landed anew",
                lost.first_path
            ) if lost.change_count -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _raise_lost(feed, without, first_path) %}
    {% do alluvium._raise_invalid(
        "change_log: source " ~ feed.name, "full refresh " ~ without ~ ", the first of them", first_path,
        "bring them back, or give up their changes with --vars 'alluvium_rebuild_without_missing_files: true'",
    ) %}
{% endmacro %}


{# By path alone, and of those that are there with another length than the ledger has, how many. #}
{% macro _missing_files_sql(listing, change_log) -%}
    select
        count_if(listed.file_path is null) as file_count,
        min(if(listed.file_path is null, applied.file_path, null)) as first_path,
        count_if(not array_contains(listed.file_lengths, applied.file_length)) as rewritten_count
    from {{ alluvium._file_ledger() }} as applied
    left join (
        select
            _metadata.file_path as file_path,
            collect_set(_metadata.file_size) as file_lengths
        from {{ listing }}
        group by _metadata.file_path
    ) as listed on applied.file_path = listed.file_path
    where
        {{ alluvium._is_entry_of(change_log) }}
        and applied.file_path is not null
{%- endmacro %}


{#
    The changes of the log that a file had under another length alone: no file that is listed has brought an event of
    the same key, operation and place in the source's order. What a file has that is new is not in the log yet, and is
    not asked.
#}
{% macro _lost_changes_sql(feed, listing, change_log) -%}
{%- set known = adapter.get_columns_in_relation(change_log) | map(attribute="name") | list -%}
{%- set identity = ["_cdc_kind", "_cdc_op", alluvium._position_before_delivery()] -%}
{%- for column in feed.columns if column.name in known and column.name in (feed.key or [column.name]) -%}
    {%- do identity.append(alluvium._comparable(alluvium._quoted_identifier(column.name), column.data_type)) -%}
{%- endfor -%}
    with logged as (
        select
            logged._cdc_file_path as file_path,
            struct({{ identity | join(", ") }}) as identity,
            listed.file_path is not null as is_listed
        from {{ change_log }} as logged
        left join (
            select distinct
                _metadata.file_path as file_path,
                _metadata.file_size as file_length
            from {{ listing }}
        ) as listed
            on logged._cdc_file_path = listed.file_path
            and logged._cdc_file_length = listed.file_length
        where
            logged._cdc_kind in ('change', 'truncate')
            {%- if feed.full_dumps %}
            -- A row that a newer version of a dump lacks is not in the table.
            and logged._cdc_snapshot is null
            {%- endif %}
    )
    select
        count(*) as change_count,
        min(file_path) as first_path
    from (
        select min(file_path) as file_path
        from logged
        group by identity
        having not bool_or(is_listed)
    ) as lost
{%- endmacro %}


{# Files of the listing, and what the ledger says of a change log's. #}
{% macro _listed_and_applied_sql(listing, change_log, outdated) -%}
    select
        _metadata.file_path as file_path,
        _metadata.file_size as file_length,
        true as is_listed,
        cast(null as bigint) as batch,
        false as is_outdated,
        cast(null as string) as declaration
    from {{ listing }}
    where
        length > 0
        and {{ alluvium._holds_values("_metadata.file_path") }}
    {%- if change_log %}
    union all
    select
        file_path,
        file_length,
        false as is_listed,
        batch,
        {{ outdated }} as is_outdated,
        declaration
    from {{ alluvium._file_ledger() }}
    where {{ alluvium._is_entry_of(change_log) }}
    {%- endif %}
{%- endmacro %}


{#
    One GROUP BY over the listing and the ledger, not a join: three shuffles less, and it tells the ledger's latest
    batch.
#}
{% macro _file_runs_sql(listing, change_log, wanted, outdated="false", more="") -%}
    with entries as (
        {{- "\n" ~ alluvium._listed_and_applied_sql(listing, change_log, outdated) | indent(4, first=true) }}
    ),
    files as (
        select
            file_path,
            file_length,
            bool_or(is_listed) as is_listed,
            max(batch) as batch,
            max_by(is_outdated, batch) as is_outdated,
            max_by(declaration, batch) as declaration,
            greatest(size(collect_set(batch)) - 1, 0) as superseded_count
        from entries
        group by file_path, file_length
    ),
    compared as (
        select
            *,
            max(batch) over () as ledger_batch,
            max(if(file_path is null, null, batch)) over () as held_batch,
            {{ wanted }} as is_wanted
        from files
    ),
    {# Neighbours of one kind share the difference of the two row numbers. #}
    runs as (
        select
            *,
            row_number() over (order by file_path)
            - row_number() over (partition by is_wanted order by file_path) as run
        from compared
        where is_listed
    )
    select
        is_wanted,
        min(file_path) as first_path,
        max(file_path) as last_path,
        count(*) as file_count,
        count_if({{ alluvium._is_container("file_path") }}) as container_count,
        count_if(is_outdated) as outdated_count,
        sum(superseded_count) as superseded_count,
        array_join(collect_set(if(is_wanted, null, declaration)), '|') as declarations,
        sum(file_length) as bytes,
        max(ledger_batch) as ledger_batch,
        max(held_batch) as held_batch
        {{- ",\n" ~ more | indent(8, first=true) if more }}
    from runs
    group by is_wanted, run
    order by first_path
{%- endmacro %}


{# The literal predicate over the runs of `_new_files`. #}
{% macro _file_predicate(runs) -%}
    {%- if not runs -%}
        false
    {%- else -%}
        (
        {%- for run in runs %}
            {% if run.first_path == run.last_path -%}
            _metadata.file_path = {{ alluvium._string_literal(run.first_path) }}
            {%- else -%}
            _metadata.file_path between {{ alluvium._string_literal(run.first_path) }}
                and {{ alluvium._string_literal(run.last_path) }}
            {%- endif %}
            {%- if not loop.last %}
            or
            {%- endif -%}
        {% endfor %}
        )
    {%- endif -%}
{%- endmacro %}


{% macro _has_no_new_files() %}
    {{ return(alluvium._remembered("new_files", this) == 0) }}
{% endmacro %}
