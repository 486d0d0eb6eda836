{# The node of a source or a model; none where none is of that name. #}
{% macro _node_of_relation(relation) %}
    {%- if alluvium._is_unit_test() -%}
        {{ return(alluvium._node_of_input(relation)) }}
    {%- endif -%}
    {%- for node in
        graph.sources.values() if node.schema == relation.schema and node.identifier == relation.identifier -%}
        {{ return(node) }}
    {%- endfor -%}
    {%- for node in graph.nodes.values()
        if node.resource_type == "model" and node.schema == relation.schema and node.alias == relation.identifier -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# dbt (1.11) gives the rows of a unit test as a CTE that is named after the parent of the tested model. #}
{% macro _node_of_input(relation) %}
    {%- for id in alluvium._own_model().depends_on.nodes -%}
        {%- set node = graph.sources.get(id) or graph.nodes[id] -%}
        {%- set name = node.source_name ~ "__" ~ node.name if node.resource_type == "source" else node.name -%}
        {%- if relation.identifier == api.Relation.add_ephemeral_prefix(name) -%}
            {{ return(node) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The relation of a model. #}
{% macro _relation_of_node(node) %}
    {{ return(api.Relation.create(schema=node.schema, identifier=node.alias)) }}
{% endmacro %}


{#
    The node of the model, in a unit test that of the tested one: dbt (1.11) renders the test under its own name,
    parents and settings.
#}
{% macro _own_model() %}
    {%- if not alluvium._is_unit_test() -%}
        {{ return(model) }}
    {%- endif -%}
    {%- if not graph -%}
        {{ exceptions.raise_compiler_error(
            "unit test " ~ model.name
            ~ ": dbt gives unit tests an empty graph, so that no macro finds the source's meta.cdc. The Python package "
            "of Alluvium has the dbt plugin that fills it: "
            ~ "install it where dbt runs"
        ) }}
    {%- endif -%}
    {{ return(graph.nodes[model.tested_node_unique_id]) }}
{% endmacro %}


{# The settings of _own_model(). #}
{% macro _own_config() %}
    {{ return(alluvium._own_model().config if alluvium._is_unit_test() else config) }}
{% endmacro %}


{% macro _is_hudi() %}
    {{ return(alluvium._own_config().get("file_format") == "hudi") }}
{% endmacro %}


{# The first model that a state reads. #}
{% macro _change_log_of_model() %}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set node = graph.nodes[parent] -%}
        {{ return(alluvium._relation_of_node(node)) }}
    {%- endfor -%}
{% endmacro %}
