{#
    Clients of the hosted Thrift server share its session, and dbt-spark (1.11) names the rows that a model is about to
    write after the model
    alone: of two builds at once one could write the other's, and record its own batches. So a build takes the session,
    and the next one waits for it.
#}
{% macro claim_session() %}
    {%- if execute and alluvium._is_run() and alluvium._is_session_shared() -%}
        {%- set other = alluvium._session_setting("alluvium.build") -%}
        {%- if other -%}
            {{ exceptions.raise_compiler_error(
                "claim_session: another build (" ~ other
                ~ ") has the session of this server: wait until it has ended. If it was killed, or a hook of it "
                "failed, "
                ~ "`dbt run-operation release_session --target " ~ target.name ~ "` ends its claim"
            ) }}
        {%- endif -%}
        {%- do run_query("set alluvium.build = " ~ alluvium._run_id()) -%}
    {%- endif -%}
    {#- Here, where no other build may be in the middle of a rename. -#}
    {%- do alluvium._finish_killed_renames() if execute and alluvium._is_run() -%}
{% endmacro %}


{# At the end of a build, whatever came of it; by hand after one that was killed. #}
{% macro release_session(results=[]) %}
    {%- if execute and alluvium._is_session_shared() -%}
        {%- set claim = alluvium._session_setting("alluvium.build") -%}
        {%- if claim and (flags.WHICH == "run-operation" or claim == alluvium._run_id()) -%}
            {%- do alluvium._empty_views_of_run() -%}
            {%- do run_query("reset alluvium.build") -%}
        {%- endif -%}
    {%- endif -%}
    {#- Last: a table may be in a state that no statement on it succeeds. -#}
    {%- do alluvium._clean_up_failed_tables(results) if execute -%}
{% endmacro %}
