{# None of a table that was only created. #}
{% macro _latest_commit_of_hudi(table) %}
    {%- set commits = alluvium._commits_of_hudi(table, 1) -%}
    {{ return(commits[0] if commits else none) }}
{% endmacro %}


{#
    A session without Hudi, as a shell has that lacks a variable, would end with an error of its parser. Models of
    Hudi's, and operations, have asked before.
#}
{% macro _commits_of_hudi(table, limit) %}
    {%- if alluvium._is_run() and not alluvium._is_hudi() and not alluvium._knows_hudi() -%}
        {% do
            alluvium._raise_invalid("table " ~ table, "format", "hudi", "delta, or " ~ alluvium._session_with_hudi()) %}
    {%- endif -%}
    {{ return(alluvium._query_rows("call show_commits(table => '" ~ table ~ "', limit => " ~ limit ~ ")")) }}
{% endmacro %}


{# Hudi names a commit by the time on the clock of the JVM's time zone. #}
{% macro _instant_of_hudi(later="") %}
    {{ return(
        "date_format(cast(java_method('java.time.LocalDateTime', 'now') as timestamp_ntz)"
        ~ (" " ~ later if later else "") ~ ", 'yyyyMMddHHmmssSSS')"
    ) }}
{% endmacro %}


{#
    Hudi (1.2.0) orders commits by their times, in the JVM's time zone, and shows nothing of one whose time is before
    those that are there: its rows would be lost without an error. The JVM's zone is UTC (alluvium/runtime/session.py),
    but a clock may be set back, another machine's may be behind, and a session may be somebody else's.
#}
{% macro _require_clock_of_hudi(caller_name, table) %}
    {%- set newest = alluvium._latest_commit_of_hudi(table) -%}
    {%- set now =
        alluvium._query_rows("select " ~ alluvium._instant_of_hudi() ~ " as now")[0].now if newest else none -%}
    {%- if newest and now <= newest.state_transition_time -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": table " ~ table, "the clock (year to millisecond, time zone of the JVM)", now,
            "a time after " ~ newest.state_transition_time
            ~ ", that of the newest commit: Hudi would lose the rows of an earlier one. "
            ~ "Set the clock or the time zone right, or wait until then"
        ) %}
    {%- endif -%}
    {{ return(newest) }}
{% endmacro %}


{#
    Delta takes a table's properties back with its rows; Hudi's `rollback_to_instant` and its restores leave them as
    they are (1.2.0), so that what was taken back would count as applied.
#}
{% macro _commit_properties_of_hudi(table) %}
    {%- set newest = alluvium._latest_commit_of_hudi(table) -%}
    {{ return({"written_until": newest.commit_time} if newest else {}) }}
{% endmacro %}


{% macro _is_taken_back(table, properties) %}
    {%- if "written_until" not in properties -%}
        {{ return(false) }}
    {%- endif -%}
    {#-
        Commits that are archived are older than those that are shown; what compaction or a purge has written since is
        newer.
    -#}
    {%- set shown = alluvium._commits_of_hudi(table, 1000) | map(attribute="commit_time") | list -%}
    {{ return(properties.written_until not in shown and (not shown or shown | min < properties.written_until)) }}
{% endmacro %}
