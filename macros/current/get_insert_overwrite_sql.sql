{#
    A mart with the strategy `insert_overwrite` is computed whole, and only when its own SQL or a table behind it has
    changed since. What it was computed from is kept as a property of the mart itself, so it goes with the mart when
    that is dropped, replaced or restored. A mart that calls current_date() or the like wants `materialized="table"`.
    The pre-hook: notes the versions before anything is read, so that they can only be too old.
#}
{% macro note_inputs() %}
    {%- if execute and config.get("incremental_strategy") == "insert_overwrite" -%}
        {%- do run_query("set " ~ alluvium.inputs_setting() ~ " = " ~ alluvium.inputs_fingerprint(model)) -%}
    {%- endif -%}
{% endmacro %}


{# The post-hook. #}
{% macro record_inputs() %}
    {%- if execute and config.get("incremental_strategy") == "insert_overwrite" and not alluvium.has_same_inputs() -%}
        {%- do run_query("alter table " ~ this ~ " set tblproperties ('alluvium.inputs' = '" ~ alluvium.noted_inputs() ~ "')") -%}
    {%- endif -%}
{% endmacro %}


{% macro inputs_setting() %}
    {{ return("alluvium.inputs." ~ (invocation_id | replace("-", "")) ~ "." ~ this.schema ~ "." ~ this.identifier) }}
{% endmacro %}


{% macro noted_inputs() %}
    {{ return(alluvium.query_rows("set " ~ alluvium.inputs_setting())[0].value) }}
{% endmacro %}


{% macro has_same_inputs() %}
    {%- for row in alluvium.query_rows("show tblproperties " ~ this) if row.key == "alluvium.inputs" -%}
        {{ return(row.value == alluvium.noted_inputs()) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Of the mart's SQL and the versions behind it; `unknown` and the run's id where a version cannot be told. #}
{% macro inputs_fingerprint(node) %}
    {%- set tables = alluvium.tables_behind(node) -%}
    {%- if none in tables -%}
        {{ return("unknown_" ~ (invocation_id | replace("-", ""))) }}
    {%- endif -%}
    {%- set inputs = [node.compiled_code] -%}
    {%- for table in tables -%}
        {%- set newest = alluvium.query_rows("describe history " ~ table ~ " limit 1")[0] -%}
        {#- The time too: a table that was dropped and made again counts from 0. -#}
        {%- do inputs.append([table, newest.version | int, newest.timestamp | string]) -%}
    {%- endfor -%}
    {{ return(local_md5(tojson(inputs))) }}
{% endmacro %}


{# The Delta tables that a model reads, through views; none stands for what has no versions. #}
{% macro tables_behind(node) %}
    {%- set tables = [] -%}
    {%- for id in node.depends_on.nodes -%}
        {%- set parent = graph.nodes.get(id) -%}
        {%- if parent and parent.config.materialized in ["view", "ephemeral"] -%}
            {%- do tables.extend(alluvium.tables_behind(parent)) -%}
        {%- elif parent and parent.config.file_format == "delta" -%}
            {%- do tables.append(parent.schema ~ "." ~ parent.alias) -%}
        {%- else -%}
            {%- do tables.append(none) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables | unique | list) }}
{% endmacro %}


{# dbt-spark's insert_overwrite strategy asks for this SQL. #}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
    {%- if alluvium.has_same_inputs() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {{ return(alluvium.insert_into_sql(source_relation, target_relation, adapter.get_columns_in_relation(target_relation) | map(attribute="name") | list, "overwrite")) }}
{% endmacro %}
