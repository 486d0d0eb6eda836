{#
    One row per line (JSON) or record (Avro, Parquet) of a source's files, with its lineage and undecoded:
    value, semantic_types, read_error, file_path, file_length, file_modified_at, file_block_start, record_order.
    `runs` limits it to the files of `_new_files`; none reads every file.
    Plain JSON lines are read by Spark's text source. Whatever can be torn without a trace there (gzip), is silently
    adjusted to a declared schema (Avro, Parquet) or is more or less than one record a line goes through read_records,
    which goes by the content; docs/decisions says why.
#}
{% macro _bronze_records(feed, runs=none, is_plain=false) %}
    {%- if alluvium._is_unit_test() -%}
        {{ return(alluvium._given_records(feed)) }}
    {%- endif -%}
    {%- set others = alluvium._files_of_other_forms(feed, runs) if feed.format == "json" and not is_plain else [] -%}
    {#- To the tests of the log that is built: they need not look again. -#}
    {%- do alluvium._remember("is_plain", this, true)
        if alluvium._is_run() and feed.format == "json" and not others and not is_plain -%}
    {%- set branches = [] -%}
    {%- if feed.format == "json" -%}
        {%- do branches.append(alluvium._text_records(feed, runs, others)) -%}
    {%- endif -%}
    {%- if others or alluvium._reads_containers(feed, runs) -%}
        {%- do branches.append(alluvium._container_records(feed, runs, others)) -%}
    {%- endif -%}
    {{ return(branches | join("\nunion all\n")) }}
{% endmacro %}


{# The rows of a unit test: the lines of one file, of Avro and Parquet the records as JSON. #}
{% macro _given_records(feed) -%}
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


{% macro _reads_containers(feed, runs) %}
    {{ return(feed.format != "json" or runs is none or (runs | sum(attribute="container_count")) > 0) }}
{% endmacro %}


{#
    The files among those that are called plain JSON which are something else by their content: compressed, a container,
    an array, records over several lines or without line breaks. One look at the first lines, without decoding any
    other.
#}
{% macro _files_of_other_forms(feed, runs) %}
    {%- set paths = [] -%}
    {%- if alluvium._may_query() and (runs is none or runs) -%}
        {%- for row in alluvium._query_rows(alluvium._files_of_other_forms_sql(feed, runs)) -%}
            {%- do paths.append(row.file_path) -%}
        {%- endfor -%}
    {%- endif -%}
    {#-
        The statement names each; of more than a thousand, whatever lies between them is read as they are, which gives
        the same records.
    -#}
    {%- if paths | length > 1000 -%}
        {{ return([{"first_path": paths | min, "last_path": paths | max}]) }}
    {%- endif -%}
    {%- set runs_of_others = [] -%}
    {%- for path in paths -%}
        {%- do runs_of_others.append({"first_path": path, "last_path": path}) -%}
    {%- endfor -%}
    {{ return(runs_of_others) }}
{% endmacro %}


{# What is too long for a `binaryFile` (2 GiB) stays what its name says. #}
{% macro _files_of_other_forms_sql(feed, runs) -%}
select file_path
from (
    select
        _metadata.file_path as file_path,
        value,
        monotonically_increasing_id() as place
    from {{ feed.relation }}
    where
        not {{ alluvium._is_container("_metadata.file_path") }}
        and {{ alluvium._holds_values("_metadata.file_path") }}
        and _metadata.file_size < 2147483647
        and _metadata.file_block_start = 0
        {%- if runs is not none %}
        and {{ alluvium._file_predicate(runs) }}
        {%- endif %}
        {#- Most lines begin as an object does; to trim them all takes longer than to read them. #}
        and (startswith(value, '{') or trim(both ' \t\r\n' from value) not in ('', 'null'))
) as beginnings
group by file_path
having {{ alluvium._is_other_form("min_by(value, place)") }}
{%- endmacro %}


{# Whether the first line of a file is not one record. One that is torn is read as it is by either reader. #}
{% macro _is_other_form(line) -%}
not startswith(trim(both ' \t\r\n' from {{ line }}), '{')
    or coalesce(json_array_length(concat('[', {{ line }}, ']')), 0) <> 1
{%- endmacro %}


{% macro _text_records(feed, runs, others) -%}
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
    not {{ alluvium._is_container("_metadata.file_path") }}
    and {{ alluvium._holds_values("_metadata.file_path") }}
    {%- if runs is not none %}
    and {{ alluvium._file_predicate(runs) }}
    {%- endif %}
    {%- if others %}
    and not {{ alluvium._file_predicate(others) }}
    {%- endif %}
{%- endmacro %}


{% macro _container_records(feed, runs, others) -%}
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
    from {{ alluvium._file_listing(feed) }}
    where
        length > 0
        and {{ alluvium._holds_values("_metadata.file_path") }}
        {%- if feed.format == "json" %}
        and (
            {{ alluvium._is_container("_metadata.file_path") }}
            {%- if others %} or {{ alluvium._file_predicate(others) }}{% endif %}
        )
        {%- endif %}
        {%- if runs is not none %}
        and {{ alluvium._file_predicate(runs) }}
        {%- endif %}
) as files,
    lateral read_records(files.content, files.path) as record
{%- endmacro %}
