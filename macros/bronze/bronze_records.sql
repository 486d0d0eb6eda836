{#
    One row per line (JSON) or record (Avro, Parquet) of a source's files, with its lineage and undecoded:
    value, semantic_types, read_error, file_path, file_length, file_modified_at, file_block_start, record_order.
    `runs` limits it to the files of new_files(); none reads every file.
    Plain JSON lines are read by Spark's text source. Whatever can be torn without a trace there (gzip) or is
    silently adjusted to a declared schema (Avro, Parquet) goes through read_records; docs/decisions says why.
#}
{% macro bronze_records(feed, runs=none) %}
    {%- if alluvium.is_unit_test() -%}
        {{ return(alluvium.given_records(feed)) }}
    {%- endif -%}
    {%- set branches = [] -%}
    {%- if feed.format == "json" -%}
        {%- do branches.append(alluvium.text_records(feed, runs)) -%}
    {%- endif -%}
    {%- if alluvium.reads_containers(feed, runs) -%}
        {%- do branches.append(alluvium.container_records(feed, runs)) -%}
    {%- endif -%}
    {{ return(branches | join("\nunion all\n")) }}
{% endmacro %}


{# The rows of a unit test: the lines of one file, of Avro and Parquet the records as JSON. #}
{% macro given_records(feed) -%}
select
    value,
    cast(null as map<string, string>) as semantic_types,
    cast(null as string) as read_error,
    'unit_test+0+0000000000.json' as file_path,
    cast(0 as bigint) as file_length,
    cast(null as timestamp) as file_modified_at,
    cast(0 as bigint) as file_block_start,
    monotonically_increasing_id() as record_order
from {{ feed.relation }}
{%- endmacro %}


{% macro reads_containers(feed, runs) %}
    {{ return(feed.format != "json" or runs is none or (runs | sum(attribute="gzip_count")) > 0) }}
{% endmacro %}


{% macro text_records(feed, runs) -%}
select
    value,
    cast(null as map<string, string>) as semantic_types,
    cast(null as string) as read_error,
    _metadata.file_path as file_path,
    _metadata.file_size as file_length,
    _metadata.file_modification_time as file_modified_at,
    _metadata.file_block_start as file_block_start,
    monotonically_increasing_id() as record_order
from {{ feed.relation }}
where
    not {{ alluvium.is_gzip("_metadata.file_path") }}
    and {{ alluvium.holds_values("_metadata.file_path") }}
    {%- if runs is not none %}
    and {{ alluvium.file_predicate(runs) }}
    {%- endif %}
{%- endmacro %}


{% macro container_records(feed, runs) -%}
select
    record.value,
    record.semantic_types,
    record.error as read_error,
    files.file_path,
    files.file_length,
    files.file_modified_at,
    cast(0 as bigint) as file_block_start,
    record.line as record_order
from (
    select
        content,
        path,
        _metadata.file_path as file_path,
        _metadata.file_size as file_length,
        _metadata.file_modification_time as file_modified_at
    from {{ alluvium.file_listing(feed) }}
    where
        length > 0
        and {{ alluvium.holds_values("_metadata.file_path") }}
        {%- if feed.format == "json" %}
        and {{ alluvium.is_gzip("_metadata.file_path") }}
        {%- endif %}
        {%- if runs is not none %}
        and {{ alluvium.file_predicate(runs) }}
        {%- endif %}
) as files,
    lateral read_records(files.content, files.path) as record
{%- endmacro %}


{# By its name, in capital letters, too: Spark (3.5) would read `a.JSON.GZ` as text. #}
{% macro is_gzip(path) %}
    {{ return("lower(" ~ path ~ ") like '%.gz'") }}
{% endmacro %}
