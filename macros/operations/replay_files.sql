{#
    The next build reads files again that a change log holds: after the decoder or a declaration has changed in a way
    that rejected no line, or after a file was replaced by another of the same length. `files` are paths as the ledger
    has them, their ends from a folder on, or patterns with `*` and `?`. dbt run-operation replay_files --args '{source:
    shop, entity: orders, files: ["orders+0+*.json"], dry_run: false}' One statement, a mark in the ledger: what is
    marked is read again as lines are that a declaration has rejected (_schema_drift), and then states and histories are
    built anew from the log, since the events have the positions of before.
#}
{% macro replay_files(source, entity, files, dry_run=true) %}
    {%- if execute -%}
        {%- do alluvium._require_dry_run("replay_files", dry_run) -%}
        {%- do alluvium._require_texts(
            "replay_files", "files", files, "a list of paths of the ledger, or of patterns with * and ?"
        ) -%}
        {%- set logs = alluvium._change_logs_of_entity("replay_files", source, entity) -%}
        {{ return(alluvium._request_replay(logs, files, dry_run)) }}
    {%- endif -%}
{% endmacro %}


{% macro _request_replay(logs, files, dry_run) %}
    {%- for change_log in logs -%}
        {%- do alluvium._stage_feed(change_log.feed) -%}
        {%- set listing = alluvium._file_listing(change_log.feed) -%}
        {%- do run_query("refresh table " ~ listing) -%}
        {%- set matches = alluvium._query_rows(alluvium._files_to_replay_sql(listing, change_log.relation, files)) -%}
        {%- do alluvium._require_match_of_files(change_log, files, matches) -%}
        {%- do alluvium._announce_replay(change_log, matches) -%}
        {%- if not dry_run -%}
            {%- do alluvium.create_file_ledger() -%}
            {%- do run_query(alluvium._request_replay_sql(listing, change_log.relation, files)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do alluvium._announce_dry_run("replay_files") if dry_run -%}
{% endmacro %}


{# By pattern what the ledger has, and what of that lies in the folder as it was read. #}
{% macro _files_to_replay_sql(listing, change_log, files) -%}
select
    pattern,
    count(*) as file_count,
    count_if(is_listed) as listed_count,
    sum(if(is_listed, line_count, 0)) as line_count,
    min(if(is_gone, file_path, null)) as missing_path
from (
    {{ alluvium._matched_files_sql(listing, change_log, files) | indent(4) }}
) as matched
group by pattern
{%- endmacro %}


{# A file that was landed anew has an entry for each length; the one that lies there can be read again. #}
{% macro _matched_files_sql(listing, change_log, files) -%}
select
    pattern,
    applied.file_path,
    applied.file_length,
    line_count,
    listed.length <=> applied.file_length as is_listed,
    listed.file_path is null as is_gone
from (
    {%- for pattern in files %}
    select
        {{ alluvium._string_literal(pattern) }} as pattern,
        file_path,
        file_length,
        line_count
    from {{ alluvium._file_ledger() }}
    where
        {{ alluvium._is_entry_of(change_log) }}
        and {{ alluvium._is_path_of("file_path", pattern) }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
) as applied
left join (
    select distinct
        _metadata.file_path as file_path,
        length
    from {{ listing }}
) as listed
    on applied.file_path = listed.file_path
{%- endmacro %}


{% macro _require_match_of_files(change_log, files, matches) %}
    {%- set subject = "replay_files: source " ~ change_log.feed.name -%}
    {%- for pattern in files if pattern not in matches | map(attribute="pattern") | list -%}
        {% do alluvium._raise_invalid(
            subject, "files", pattern,
            "files that " ~ change_log.relation ~ " was read from, as " ~ alluvium._file_ledger() ~ " has their paths"
        ) %}
    {%- endfor -%}
    {%- for match in matches if match.missing_path -%}
        {% do alluvium._raise_invalid(
            subject, "files", match.missing_path,
            "files that still lie at " ~ change_log.feed.location ~ "; bring it back, or name others"
        ) %}
    {%- endfor -%}
{% endmacro %}


{% macro _announce_replay(change_log, matches) %}
    {%- for match in matches -%}
        {%- do log(
            "replay_files: " ~ match.pattern ~ ": " ~ match.listed_count ~ " files, " ~ match.line_count
            ~ " lines are read again",
            info=true
        ) -%}
    {%- endfor -%}
    {%- do alluvium._announce_rebuild("replay_files", change_log.node) -%}
{% endmacro %}


{% macro _request_replay_sql(listing, change_log, files) -%}
merge into {{ alluvium._file_ledger() }} as entry
using (
    select distinct
        file_path,
        file_length
    from (
        {{ alluvium._matched_files_sql(listing, change_log, files) | indent(8) }}
    ) as matched
    where is_listed
) as wanted
on entry.{{ alluvium._is_entry_of(change_log) }}
    and entry.file_path = wanted.file_path
    and entry.file_length = wanted.file_length
when matched
    then update set replay_requested_at = current_timestamp()
{%- endmacro %}
