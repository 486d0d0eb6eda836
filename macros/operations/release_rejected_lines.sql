{#
    Releases rejected lines: somebody has looked at them, and they are not held against the threshold of their source
    any more (rejected_within_threshold). They stay in the log and in the quarantine, and no row of any table changes:
    what is to come into the tables comes from a file, such as one with the corrected lines in the source's folder
    (`corrected_in`). So a full refresh gives the same. dbt run-operation release_rejected_lines --args '{source: shop,
    entity: orders, note: "torn upload", reasons: [malformed_json], dry_run: false}' A release is of one line of one
    file for one reason: rejected for another one, the line counts again. `take_back` ends it.
#}
{% macro release_rejected_lines(
    source, entity, note, files=none, reasons=none, lines=none, corrected_in=none, take_back=false, dry_run=true
) %}
    {%- if execute -%}
        {%- set caller_name = "release_rejected_lines" -%}
        {%- do alluvium._require_dry_run(caller_name, dry_run) -%}
        {%- do alluvium._require_one_of(caller_name, "take_back", take_back, [true, false]) -%}
        {%- if note is not string or not note.strip() -%}
            {% do alluvium._raise_invalid(caller_name, "note", note, "a text that says why") %}
        {%- endif -%}
        {%- do alluvium._require_choice_of_lines(caller_name, files, reasons, lines) -%}
        {%- if corrected_in is not none -%}
            {% do alluvium._require_texts(
                    caller_name, "corrected_in", [corrected_in], "the path of one file of the ledger"
                ) %}
        {%- endif -%}
        {%- set logs = alluvium._change_logs_of_entity(caller_name, source, entity) -%}
        {%- set choice = {"files": files or [], "reasons": reasons or [], "lines": lines or []} -%}
        {{ return(alluvium._release_lines(logs, choice, note, corrected_in, take_back, dry_run)) }}
    {%- endif -%}
{% endmacro %}


{% macro _release_lines(logs, choice, note, corrected_in, take_back, dry_run) %}
    {%- set table = alluvium._released_lines() -%}
    {%- for change_log in logs -%}
        {%- set relation = change_log.relation -%}
        {%- do alluvium._require_match_of_choice(relation, choice, take_back) -%}
        {%- set given_in = alluvium._path_of_correction(relation, corrected_in) if corrected_in else none -%}
        {%- if take_back -%}
            {%- set count = alluvium._query_rows(
                "select count(*) as row_count from " ~ alluvium._released_rows_sql(relation, choice)
            )[0].row_count -%}
            {%- do run_query("delete from " ~ alluvium._released_rows_sql(relation, choice)) if not dry_run -%}
        {%- else -%}
            {%- set count = alluvium._query_rows(
                alluvium._count_of_rows_sql(alluvium._lines_to_release_sql(relation, choice))
            )[0].row_count -%}
            {%- do alluvium._create_ledger(table, alluvium._create_released_lines_sql(table)) if not dry_run -%}
            {%- do run_query(alluvium._release_sql(table, relation, choice, note, given_in)) if not dry_run -%}
        {%- endif -%}
        {%- do log(
            "release_rejected_lines: " ~ relation ~ ": " ~ count
            ~ (" releases taken back" if take_back else " rejected lines released"),
            info=true
        ) -%}
    {%- endfor -%}
    {%- do alluvium._announce_dry_run("release_rejected_lines") if dry_run -%}
{% endmacro %}


{% macro _create_released_lines_sql(table) -%}
{%- set columns -%}
change_log string comment 'relation of the change log',
file_path string,
file_length bigint,
line bigint,
reject_reason string,
note string comment 'why, as given',
corrected_in string comment 'path of the file that has the line as it should have been',
released_at timestamp,
run_id string comment 'invocation_id of dbt, without dashes'
{%- endset -%}
{{ alluvium._create_ledger_sql(table, columns) }}
{%- endmacro %}


{# Without a choice a slip of the pen would release whatever a log has rejected. #}
{% macro _require_choice_of_lines(caller_name, files, reasons, lines) %}
    {%- do alluvium._require_texts(
            caller_name, "files", files, "a list of paths of the ledger, or of patterns with * and ?"
        )
        if files is not none -%}
    {%- do alluvium._require_texts(caller_name, "reasons", reasons, "a list of reason codes") if reasons is not none -%}
    {%- if files is none and reasons is none -%}
        {% do alluvium._raise_invalid(
            caller_name, "files", files, "files, reasons or both: all lines are released by naming the reasons"
        ) %}
    {%- endif -%}
    {%- if lines is not none and (
        lines is string or lines is not sequence or not lines or lines | reject("integer") | list or not files
        or files | length != 1
    ) -%}
        {% do alluvium._raise_invalid(
                caller_name, "lines", lines, "a list of line numbers of one file, which `files` names"
            ) %}
    {%- endif -%}
{% endmacro %}


{# The condition on rejected lines, or on releases, that they are chosen. #}
{% macro _is_chosen(choice, path, reason, line) -%}
    {%- set conditions = [] -%}
    {%- for pattern in choice.files -%}
        {%- do conditions.append(alluvium._is_path_of(path, pattern)) -%}
    {%- endfor -%}
    {%- set parts = ["(" ~ conditions | join(" or ") ~ ")"] if conditions else [] -%}
    {%- do parts.append(reason ~ " in (" ~ alluvium._string_literals(choice.reasons) ~ ")") if choice.reasons -%}
    {%- do parts.append(line ~ " in (" ~ choice.lines | join(", ") ~ ")") if choice.lines -%}
    {{ return(parts | join(" and ")) }}
{%- endmacro %}


{#
    Each file, reason and line that is named has to name something; a misspelt one would do nothing, and say so only by
    a number.
#}
{% macro _require_match_of_choice(change_log, choice, take_back) %}
    {%- for argument, values in choice.items() -%}
        {%- for value in values -%}
            {%- set one = {"files": choice.files if argument == "lines" else [], "reasons": [], "lines": []} -%}
            {%- do one.update({argument: [value]}) -%}
            {%- set rejected = alluvium._count_of_rows_sql(alluvium._chosen_lines_sql(change_log, one)) -%}
            {%- if not alluvium._query_rows(rejected)[0].row_count -%}
                {% do alluvium._raise_invalid(
                    "release_rejected_lines", argument, value,
                    "what rejected lines of " ~ change_log ~ " have; `quarantine_report` shows them"
                ) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if take_back and not alluvium._has_released_lines() -%}
        {% do alluvium._raise_invalid(
            "release_rejected_lines", "take_back", take_back, "false: no line has been released yet"
        ) %}
    {%- endif -%}
{% endmacro %}


{% macro _chosen_lines_sql(change_log, choice) -%}
select
    _cdc_file_path as file_path,
    _cdc_file_length as file_length,
    _cdc_line as line,
    _cdc_reject_reason as reject_reason
from {{ change_log }} as rejected
where
    _cdc_reject_reason is not null
    and {{ alluvium._is_chosen(choice, "_cdc_file_path", "_cdc_reject_reason", "_cdc_line") }}
{%- endmacro %}


{# Those that are not released yet: done twice, it changes nothing. #}
{% macro _lines_to_release_sql(change_log, choice) -%}
{{ alluvium._chosen_lines_sql(change_log, choice) }}
    and {{ alluvium._is_not_released(change_log, "rejected") | indent(4) }}
{%- endmacro %}


{% macro _count_of_rows_sql(query) -%}
select count(*) as row_count
from (
    {{ query | indent(4) }}
) as counted
{%- endmacro %}


{% macro _release_sql(table, change_log, choice, note, corrected_in) -%}
insert into {{ table }}
select
    {{ alluvium._string_literal(change_log.render()) }} as change_log,
    file_path,
    file_length,
    line,
    reject_reason,
    {{ alluvium._string_literal(note) }} as note,
    {{ alluvium._string_literal(corrected_in) if corrected_in else "cast(null as string)" }} as corrected_in,
    current_timestamp() as released_at,
    '{{ alluvium._run_id() }}' as run_id
from (
    {{ alluvium._lines_to_release_sql(change_log, choice) | indent(4) }}
) as chosen
{%- endmacro %}


{# What stands behind `from` or `delete from`. #}
{% macro _released_rows_sql(change_log, choice) -%}
{{ alluvium._released_lines() }}
where
    {{ alluvium._is_entry_of(change_log) }}
    and {{ alluvium._is_chosen(choice, "file_path", "reject_reason", "line") }}
{%- endmacro %}


{# The one file of the log's ledger that is named. #}
{% macro _path_of_correction(change_log, corrected_in) %}
    {%- set found = alluvium._query_rows(
        "select distinct file_path from " ~ alluvium._file_ledger() ~ " where " ~ alluvium._is_entry_of(change_log)
        ~ " and " ~ alluvium._is_path_of("file_path", corrected_in)
    ) -%}
    {%- if found | length != 1 -%}
        {% do alluvium._raise_invalid(
            "release_rejected_lines", "corrected_in", corrected_in,
            "one file that " ~ change_log ~ " was read from; " ~ (found | length) ~ " are"
        ) %}
    {%- endif -%}
    {{ return(found[0].file_path) }}
{% endmacro %}
