{#
    How far a table has applied what it is built from, as properties of the table itself: they go with the table
    when it is dropped, replaced or restored. They are written after the merge, so they may lag after a kill and
    then the merge repeats, which changes nothing; they can never run ahead.
#}
{% macro pending_batches(upstream) %}
    {%- if flags.WHICH not in ["build", "run", "retry"] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set newest = alluvium.newest_upstream_batch(upstream) -%}
    {%- set after = alluvium.applied_batch_below(this, upstream.identifier, newest) if is_incremental() else 0 -%}
    {%- do alluvium.remember("pending_batch." ~ upstream.identifier, this, newest) -%}
    {{ return({"after": after, "until": newest}) }}
{% endmacro %}


{# An upstream whose batches end before what was applied is another one than that: it is taken whole. #}
{% macro applied_batch_below(table, upstream_identifier, newest) %}
    {%- set applied = alluvium.applied_batch(table, upstream_identifier) -%}
    {{ return(applied if applied <= newest else 0) }}
{% endmacro %}


{# A state says itself how far it is; a change log is asked. #}
{% macro newest_upstream_batch(upstream) %}
    {%- for row in alluvium.query_rows("show tblproperties " ~ upstream) if row.key.startswith("alluvium.applied_batch.") -%}
        {{ return(row.value | int) }}
    {%- endfor -%}
    {{ return(alluvium.newest_batch(upstream)) }}
{% endmacro %}


{# The bound that pending_batches() left for this run; none for an upstream that the model did not ask about. #}
{% macro pending_batch(upstream_identifier) %}
    {%- set pending = alluvium.remembered("pending_batch." ~ upstream_identifier, this) -%}
    {{ return(pending | int if pending is not none else none) }}
{% endmacro %}


{% macro applied_batch(table, upstream_identifier) %}
    {%- for row in alluvium.query_rows("show tblproperties " ~ table) if row.key == "alluvium.applied_batch." ~ upstream_identifier -%}
        {{ return(row.value | int) }}
    {%- endfor -%}
    {{ return(0) }}
{% endmacro %}


{# The post-hook of every table that is merged from the batches of others. #}
{% macro record_applied_batches() %}
    {%- if execute -%}
        {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
            {%- do alluvium.record_applied_batch(graph.nodes[parent].alias) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro record_applied_batch(upstream_identifier) %}
    {%- set pending = alluvium.pending_batch(upstream_identifier) -%}
    {%- if pending not in [none, alluvium.applied_batch(this, upstream_identifier)] -%}
        {%- do run_query(
            "alter table " ~ this ~ " set tblproperties ('alluvium.applied_batch." ~ upstream_identifier ~ "' = '" ~ pending ~ "')"
        ) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the model asked for pending batches when it compiled, and none of its upstreams has one. #}
{% macro is_level_with_upstreams() %}
    {%- set level = [] -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set upstream = graph.nodes[parent].alias -%}
        {%- set pending = alluvium.pending_batch(upstream) -%}
        {%- if pending is not none -%}
            {%- do level.append(pending == alluvium.applied_batch(this, upstream)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(level | length > 0 and false not in level) }}
{% endmacro %}


{# Instead of a merge or an insert of no rows, which would cost a commit. #}
{% macro nothing_to_apply_sql() -%}
    select 'nothing new' as applied
{%- endmacro %}
