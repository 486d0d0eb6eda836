{#
    What the parts of a run leave for each other: dbt compiles a model's hooks and its strategy's SQL on their own. `graph` is one dictionary for all nodes and
    hooks of a run (dbt-core 1.11). Nothing here outlives the process: what has to is a setting of the Spark session, or a property of a table.
#}
{% macro run_state() %}
    {{ return(graph.setdefault("alluvium", {}).setdefault(invocation_id, {})) }}
{% endmacro %}


{% macro remember(kind, relation, value) %}
    {%- do alluvium.run_state().update({alluvium.name_in_run(kind, relation): value}) -%}
{% endmacro %}


{# What was left, none where nothing was. #}
{% macro remembered(kind, relation) %}
    {{ return(alluvium.run_state().get(alluvium.name_in_run(kind, relation))) }}
{% endmacro %}


{% macro name_in_run(kind, relation) %}
    {{ return(kind ~ " of " ~ relation.schema ~ "." ~ relation.identifier) }}
{% endmacro %}


{# Whether models are built, not only compiled or tested. #}
{% macro is_run() %}
    {{ return(flags.WHICH in ["build", "run", "retry"] and not alluvium.is_unit_test()) }}
{% endmacro %}


{#
    Whether a macro may ask the database. Not where dbt only renders, which works before anything is built: SQL names tables then, and the rows of a
    unit test are given.
#}
{% macro may_query() %}
    {{ return(execute and flags.WHICH not in ["compile", "generate", "list", "parse"] and not alluvium.is_unit_test()) }}
{% endmacro %}


{% macro is_unit_test() %}
    {{ return(model is defined and model.resource_type == "unit_test") }}
{% endmacro %}


{# dbt's id of the run, as a part of a table's name may be. #}
{% macro run_id() %}
    {{ return(invocation_id | replace("-", "")) }}
{% endmacro %}


{% macro session_setting(name) %}
    {%- set rows = alluvium.query_rows("set " ~ name) -%}
    {#- Spark answers `<undefined>` for a setting that is not there. -#}
    {{ return(alluvium.text_of_shown("session_setting", name, rows[0].value) if rows and rows[0].value != "<undefined>" else none) }}
{% endmacro %}


{#
    Clients of the hosted Thrift server share its session, and dbt-spark (1.11) names the rows that a model is about to write after the model
    alone: of two builds at once one could write the other's, and record its own batches. So a build takes the session, and the next one waits for it.
#}
{% macro claim_session() %}
    {%- if execute and alluvium.is_run() and alluvium.is_session_shared() -%}
        {%- set other = alluvium.session_setting("alluvium.build") -%}
        {%- if other -%}
            {{ exceptions.raise_compiler_error(
                "claim_session: another build (" ~ other ~ ") has the session of this server: wait until it has ended. If it was killed, or a hook of it failed, "
                ~ "`dbt run-operation release_session --target " ~ target.name ~ "` ends its claim"
            ) }}
        {%- endif -%}
        {%- do run_query("set alluvium.build = " ~ alluvium.run_id()) -%}
    {%- endif -%}
    {#- Here, where no other build may be in the middle of a rename. -#}
    {%- do alluvium.mend_killed_renames() if execute and alluvium.is_run() -%}
{% endmacro %}


{# At the end of a build, whatever came of it; by hand after one that was killed. #}
{% macro release_session(results=[]) %}
    {%- if execute and alluvium.is_session_shared() -%}
        {%- set claim = alluvium.session_setting("alluvium.build") -%}
        {%- if claim and (flags.WHICH == "run-operation" or claim == alluvium.run_id()) -%}
            {%- do alluvium.empty_views_of_run() -%}
            {%- do run_query("reset alluvium.build") -%}
        {%- endif -%}
    {%- endif -%}
    {#- Last: a table may be in a state that no statement on it succeeds. -#}
    {%- do alluvium.clean_up_failed_tables(results) if execute -%}
{% endmacro %}


{#
    dbt-spark (1.11) leaves the views of the rows that a model has written, and Spark (3.5.7) analyses every temporary view of the session whenever a
    connection to a Thrift server ends: a client's would take seconds. Dropped in that moment, a view would be an error of the connection that ends.
#}
{% macro empty_views_of_run() %}
    {%- set views = [] -%}
    {#- A build that was killed is one of any models. -#}
    {%- for id in (graph.nodes if flags.WHICH == "run-operation" else selected_resources) if id in graph.nodes -%}
        {%- for suffix in ["__dbt_tmp", "__dbt_tmp__rows", "__rows"] -%}
            {%- do views.append((graph.nodes[id].alias ~ suffix) | lower) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for view in alluvium.query_rows("show views") if view.isTemporary and view.viewName | lower in views -%}
        {%- do run_query("create or replace temporary view " ~ alluvium.quoted_identifier(view.viewName) ~ " as select 'written' as rows") -%}
    {%- endfor -%}
{% endmacro %}


{# Two builds that begin at once may both have found no other; the one that claimed first stops before it writes. #}
{% macro require_claimed_session(caller_name) %}
    {%- if alluvium.is_run() and alluvium.is_session_shared() and alluvium.session_setting("alluvium.build") != alluvium.run_id() -%}
        {{ exceptions.raise_compiler_error(caller_name ~ ": another build has taken the session of this server: run again when it has ended") }}
    {%- endif -%}
{% endmacro %}


{# The hosted server says so (alluvium/thrift_server.py). #}
{% macro is_session_shared() %}
    {{ return(alluvium.lasting_setting("alluvium.is_shared") == "true") }}
{% endmacro %}


{# Of a setting that no run changes: asked for once. #}
{% macro lasting_setting(name) %}
    {%- set state = alluvium.run_state() -%}
    {%- if name not in state and alluvium.may_query() -%}
        {%- do state.update({name: alluvium.session_setting(name)}) -%}
    {%- endif -%}
    {{ return(state.get(name)) }}
{% endmacro %}
