{# A state says itself how far it is; a change log is asked. #}
{% macro _latest_upstream_batch(upstream) %}
    {%- for name, value in alluvium._table_properties(upstream).items() if name.startswith("applied_batch.") -%}
        {{ return(value | int) }}
    {%- endfor -%}
    {{ return(alluvium._latest_batch(upstream)) }}
{% endmacro %}


{% macro _applied_batch(table, upstream_identifier) %}
    {{ return(alluvium._table_property(table, "applied_batch." ~ upstream_identifier) | int(0)) }}
{% endmacro %}


{#
    The newest batch of a log that a table behind it has applied: one that was restored or dropped goes on counting
    there, since a state that has applied batch 2 would pass over another batch 2. The numbers of a state are its log's,
    so its marts are asked, too; a log of complete transactions has its own.
#}
{% macro _latest_batch_of_readers(node) %}
    {%- set batches = [0] -%}
    {%- for reader in graph.nodes.values()
        if reader.resource_type == "model" and node.unique_id in reader.depends_on.nodes
        and (alluvium._is_merged_from_batches(reader) or alluvium._is_log(reader)) -%}
        {%- set table = load_relation(alluvium._relation_of_node(reader)) -%}
        {%- do batches.append(alluvium._applied_batch(table, node.alias)) if table and not table.is_view -%}
        {%- do batches.append(alluvium._latest_batch_of_readers(reader)) if alluvium._is_kept_by_key(reader) -%}
    {%- endfor -%}
    {{ return(batches | max) }}
{% endmacro %}
