{% macro _session_setting(name) %}
    {%- set rows = alluvium._query_rows("set " ~ name) -%}
    {#- Spark answers `<undefined>` for a setting that is not there. -#}
    {{ return(
        alluvium._text_of_shown("session_setting", name, rows[0].value) if rows and rows[0].value != "<undefined>"
        else none
    ) }}
{% endmacro %}


{#
    dbt-spark (1.11) leaves the views of the rows that a model has written, and Spark (3.5.7) analyses every temporary
    view of the session whenever a connection to a Thrift server ends: a client's would take seconds. Dropped in that
    moment, a view would be an error of the connection that ends.
#}
{% macro _empty_views_of_run() %}
    {%- set views = [] -%}
    {#- A build that was killed is one of any models. -#}
    {%- for id in (graph.nodes if flags.WHICH == "run-operation" else selected_resources) if id in graph.nodes -%}
        {%- for suffix in ["__dbt_tmp", "__dbt_tmp__rows", "__rows"] -%}
            {%- do views.append((graph.nodes[id].alias ~ suffix) | lower) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for view in alluvium._query_rows("show views") if view.isTemporary and view.viewName | lower in views -%}
        {%- do run_query(
            "create or replace temporary view " ~ alluvium._quoted_identifier(view.viewName)
            ~ " as select 'written' as rows"
        ) -%}
    {%- endfor -%}
{% endmacro %}


{# Two builds that begin at once may both have found no other; the one that claimed first stops before it writes. #}
{% macro _require_claimed_session(caller_name) %}
    {%- if alluvium._is_run() and alluvium._is_session_shared()
        and alluvium._session_setting("alluvium.build") != alluvium._run_id() -%}
        {{ exceptions.raise_compiler_error(
            caller_name ~ ": another build has taken the session of this server: run again when it has ended"
        ) }}
    {%- endif -%}
{% endmacro %}


{# The dbt plugin says so (alluvium/runtime/session.py): whatever Spark remembers, it has learnt in this run. #}
{% macro _is_session_of_this_run() %}
    {{ return(alluvium._lasting_setting("alluvium.made_for") == invocation_id) }}
{% endmacro %}


{# The hosted server says so (alluvium/server/hosting.py). #}
{% macro _is_session_shared() %}
    {{ return(alluvium._lasting_setting("alluvium.is_shared") == "true") }}
{% endmacro %}


{# Of a setting that no run changes: asked for once. #}
{% macro _lasting_setting(name) %}
    {%- set state = alluvium._run_state() -%}
    {%- if name not in state and alluvium._may_query() -%}
        {%- do state.update({name: alluvium._session_setting(name)}) -%}
    {%- endif -%}
    {{ return(state.get(name)) }}
{% endmacro %}
