{#
    A mart with the strategy `insert_overwrite` is computed whole, and only when its own SQL or a table behind it has
    changed since. What it was computed from is kept as a property of the mart itself, so it goes with the mart when
    that is dropped, replaced or restored. A mart that calls current_date() or the like wants `materialized="table"`.
    The pre-hook: notes the versions before anything is read, so that they can only be too old.
#}
{% macro note_inputs() %}
    {%- if execute and config.get("incremental_strategy") == "insert_overwrite" -%}
        {%- do alluvium.require_strategy("note_inputs", "insert_overwrite") -%}
        {%- do alluvium.require_hudi("note_inputs: model " ~ model.name) if alluvium.is_hudi() -%}
        {%- do alluvium.remember("inputs", this, alluvium.inputs_fingerprint(model)) -%}
    {%- endif -%}
{% endmacro %}


{# The post-hook. #}
{% macro record_inputs() %}
    {%- if execute and config.get("incremental_strategy") == "insert_overwrite" and not alluvium.has_same_inputs() -%}
        {%- do run_query("alter table " ~ this ~ " set tblproperties ('alluvium.inputs' = '" ~ alluvium.remembered("inputs", this) ~ "')") -%}
    {%- endif -%}
{% endmacro %}


{% macro has_same_inputs() %}
    {{ return(alluvium.table_property(this, "inputs") == alluvium.remembered("inputs", this)) }}
{% endmacro %}


{# Of the mart's SQL and what is behind it; `unknown` and the run's id where that cannot be told. #}
{% macro inputs_fingerprint(node) %}
    {%- set inputs = alluvium.inputs_behind(node) -%}
    {%- if not inputs or none in inputs -%}
        {{ return("unknown_" ~ alluvium.run_id()) }}
    {%- endif -%}
    {{ return(local_md5(tojson([node.compiled_code, inputs]))) }}
{% endmacro %}


{#
    One text for each relation that a model reads: the newest commit of a Delta or Hudi table, the query of a view and what is
    behind that; none stands for anything else.
#}
{% macro inputs_behind(node) %}
    {%- set inputs = [] -%}
    {%- for id in node.depends_on.nodes -%}
        {%- set parent = graph.nodes.get(id) -%}
        {%- if parent and parent.config.materialized in ["view", "ephemeral"] -%}
            {%- do inputs.extend([alluvium.view_text(parent)] if parent.config.materialized == "view" else []) -%}
            {%- do inputs.extend(alluvium.inputs_behind(parent)) -%}
        {%- elif parent and parent.config.file_format in ["delta", "hudi"] -%}
            {%- do inputs.append(alluvium.newest_commit(parent)) -%}
        {%- else -%}
            {%- do inputs.append(none) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(inputs | unique | list) }}
{% endmacro %}


{# As the catalog has it: a run may select the mart and not the view. #}
{% macro view_text(node) %}
    {%- set rows = alluvium.query_rows("describe extended " ~ node.schema ~ "." ~ node.alias) -%}
    {{ return(rows | selectattr("col_name", "equalto", "View Text") | map(attribute="data_type") | first) }}
{% endmacro %}


{#
    Of those that may have changed rows: compaction, vacuum and the purge of deletion vectors have not. With its time: a table that was dropped and made
    again counts from 0. Where none of the newest hundred has changed rows, or history is not kept that long, the newest of all: then a mart
    is computed once more.
#}
{% macro newest_commit(node) %}
    {%- set table = node.schema ~ "." ~ node.alias -%}
    {%- if node.config.file_format == "hudi" -%}
        {{ return(table ~ " " ~ alluvium.newest_commit_of_hudi(table).commit_time) }}
    {%- endif -%}
    {%- set newest = alluvium.query_rows("describe history " ~ table ~ " limit 1") -%}
    {%- if newest[0].operation in alluvium.maintenance_operations() -%}
        {%- set commits = alluvium.query_rows("describe history " ~ table ~ " limit 100") -%}
        {%- set newest = commits | rejectattr("operation", "in", alluvium.maintenance_operations()) | list + newest -%}
    {%- endif -%}
    {{ return(table ~ " " ~ newest[0].version ~ " " ~ newest[0].timestamp) }}
{% endmacro %}


{# As Delta (3.3.3) calls them in a table's history. #}
{% macro maintenance_operations() %}
    {{ return(["OPTIMIZE", "REORG", "VACUUM START", "VACUUM END"]) }}
{% endmacro %}


{#
    dbt-spark's insert_overwrite strategy asks for this SQL. The property goes first, so that a run that is killed
    between the rows and the new one leaves none. A model without note_inputs, of a project that has this one as a package, is dbt-spark's.
#}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
    {%- if alluvium.remembered("inputs", this) is none -%}
        {{ return(dbt.get_insert_overwrite_sql(source_relation, target_relation, existing_relation)) }}
    {%- endif -%}
    {%- do alluvium.require_format_of_table("get_insert_overwrite_sql") -%}
    {%- if alluvium.has_same_inputs() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium.require_claimed_session("get_insert_overwrite_sql") -%}
    {%- do alluvium.require_clock_of_hudi("get_insert_overwrite_sql", target_relation) if alluvium.is_hudi() -%}
    {%- do run_query("alter table " ~ target_relation ~ " unset tblproperties if exists ('alluvium.inputs')") -%}
    {{ return(alluvium.overwrite_sql(source_relation, target_relation)) }}
{% endmacro %}


{% macro overwrite_sql(source, target) %}
    {#- dbt-spark sets DYNAMIC for a mart with `partition_by`, which keeps the partitions that have no row any more. -#}
    {%- do run_query("set spark.sql.sources.partitionOverwriteMode = STATIC") -%}
    {{ return(alluvium.insert_into_sql(source, target, alluvium.same_columns(source, target), "overwrite")) }}
{% endmacro %}
