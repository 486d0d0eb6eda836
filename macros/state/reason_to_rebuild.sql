{#
    Why the model's table cannot go on from what it has, in words; none where it can. A run that was killed before it
    wrote down what it has applied leaves nothing of that: of a table that is built from a log of its own the log's
    generation is compared all the same.
#}
{% macro _reason_to_rebuild(table) %}
    {%- set properties = alluvium._table_properties(table) -%}
    {%- if "rebuild_begun" in properties -%}
        {{ return("a rebuild of it was not finished") }}
    {%- endif -%}
    {%- if "rebuild_requested" in properties -%}
        {{ return("reset_entity has asked for it") }}
    {%- endif -%}
    {%- if alluvium._is_taken_back(table, properties) -%}
        {{ return("its newest commits were taken back") }}
    {%- endif -%}
    {%- if alluvium._is_kept_by_key(model) and "generation" not in properties -%}
        {{ return("nothing says what it has applied") }}
    {%- endif -%}
    {%- set reads_own_log = alluvium._reads_own_log(model) -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set node = graph.nodes[parent] -%}
        {%- set upstream = alluvium._relation_of_node(node) -%}
        {%- set applied =
            properties.get("applied_generation." ~ node.alias, "none" if reads_own_log and loop.first else none) -%}
        {%- if applied is not none and applied != alluvium._generation(upstream) -%}
            {{ return(node.name ~ " was built anew or has had files replayed") }}
        {%- elif applied is not none and "applied_batch." ~ node.alias in properties
            and alluvium._applied_batch(table, node.alias) > alluvium._latest_upstream_batch(upstream) -%}
            {{ return(node.name ~ " has been taken back to a batch before those that it has applied") }}
        {%- endif -%}
    {%- endfor -%}
    {%- set said = alluvium._describe_changed_options(alluvium._meaning_of_model(), [properties.declaration])
        if "declaration" in properties else none -%}
    {{ return(said ~ " than when it was built" if said else none) }}
{% endmacro %}


{# Found once in a run, when the model compiles: what says so goes with the table that is replaced. #}
{% macro _is_to_be_rebuilt() %}
    {%- if not execute or not alluvium._is_run() or flags.EMPTY or config.get("materialized") != "incremental"
        or config.get("incremental_strategy") not in ["append", "merge"]
        or not (alluvium._is_log(model) or alluvium._is_merged_from_batches(model)) or load_relation(this) is none -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set found = alluvium._remembered("is_to_be_rebuilt", this) -%}
    {%- if found is not none -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set reason = alluvium._reason_to_rebuild(this) -%}
    {%- do log(model.name ~ ": built anew, since " ~ reason, info=true) if reason -%}
    {%- do alluvium._remember("is_to_be_rebuilt", this, reason is not none) -%}
    {{ return(reason is not none) }}
{% endmacro %}
