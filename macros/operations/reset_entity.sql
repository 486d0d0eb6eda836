{#
    The next build computes one entity anew from its files, as a full refresh of its change log and of all behind it
    would: the log, its states and histories, and the marts that read them. Nothing is taken away: each table stays as
    it is until the build replaces it, in one commit. dbt run-operation reset_entity --args '{source: shop, entity:
    orders, dry_run: false}' One statement, a property of the log: it goes with the table that is replaced, so a killed
    build leaves it, and what is behind the log compares itself with the log (should_full_refresh).
#}
{% macro reset_entity(source, entity, dry_run=true) %}
    {%- if execute -%}
        {%- do alluvium._require_dry_run("reset_entity", dry_run) -%}
        {{ return(alluvium._reset_logs(alluvium._change_logs_of_entity("reset_entity", source, entity), dry_run)) }}
    {%- endif -%}
{% endmacro %}


{% macro _reset_logs(logs, dry_run) %}
    {%- for change_log in logs -%}
        {%- do alluvium._stage_feed(change_log.feed) -%}
        {#- The build would refuse it; said where it is asked for. -#}
        {%- do alluvium._require_no_missing_files(change_log.feed, change_log.relation)
            if load_relation(alluvium._file_ledger()) is not none -%}
        {%- do alluvium._announce_rebuild("reset_entity", change_log.node) -%}
        {%- do
            alluvium._set_properties(change_log.relation, {"rebuild_requested": alluvium._run_id()}) if not dry_run -%}
    {%- endfor -%}
    {%- do alluvium._announce_dry_run("reset_entity") if dry_run -%}
{% endmacro %}


{# The tables that a build makes anew once a log is another one. #}
{% macro _announce_rebuild(caller_name, node) %}
    {%- set names = [] -%}
    {%- for id in alluvium._models_behind([node.unique_id]) if graph.nodes[id].config.materialized == "incremental" -%}
        {%- do names.append(graph.nodes[id].name) -%}
    {%- endfor -%}
    {%- do log(
            caller_name ~ ": `dbt build --select " ~ node.name ~ "+` builds anew " ~ names | sort | join(", "),
            info=true
        ) -%}
{% endmacro %}
