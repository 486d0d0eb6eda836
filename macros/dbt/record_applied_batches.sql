{#
    The post-hook of every table that is merged from the batches of others: one commit for all that is new. A model that
    names it in its own config, too, has it twice.
#}
{% macro record_applied_batches() %}
    {%- if execute and alluvium._is_first_call("record_applied_batches") -%}
        {%- do alluvium._resolve_moved_values() -%}
        {%- do alluvium._announce_undecided_counts() -%}
        {%- do alluvium._resolve_moved_versions() -%}
        {%- set properties = {} -%}
        {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
            {%- do properties.update(alluvium._applied_batch_properties(graph.nodes[parent].alias)) -%}
        {%- endfor -%}
        {%- do properties.update(alluvium._reset_properties(properties)) -%}
        {%- set tracked_columns = alluvium._remembered("tracked_columns", this) -%}
        {%- if tracked_columns -%}
            {#- Versions have changed without a batch: marts take the history whole. -#}
            {%- do properties.update({"generation": alluvium._run_id()})
                if alluvium._table_property(this, "tracked_columns") != "none" -%}
            {%- do properties.update({"tracked_columns": tracked_columns}) -%}
        {%- endif -%}
        {%- if properties -%}
            {%- do alluvium._forget_other_log(properties) -%}
            {%- do properties.update(
                    {"declaration": alluvium._declared(alluvium._meaning_of_model()), "has_positions": "true"}
                )
                if alluvium._reads_own_log(model) -%}
            {%- do properties.update(alluvium._properties_of_columns()) -%}
            {%- do properties.update(alluvium._key_conflict_properties()) -%}
            {%- do properties.update(alluvium._properties_of_columns_left_out()) -%}
            {%- do properties.update(alluvium._commit_properties_of_hudi(this)) if alluvium._is_hudi() -%}
            {%- do alluvium._remember("is_written", this, true) -%}
            {%- do alluvium._set_properties(
                this, properties, alluvium._properties_of_merged_table() if properties.generation else {}
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
