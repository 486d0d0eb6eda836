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
    {%- set reads_own_log = alluvium._reads_own_log(model) -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set node = graph.nodes[parent] -%}
        {%- set applied =
            properties.get("applied_generation." ~ node.alias, "none" if reads_own_log and loop.first else none) -%}
        {%- if applied is not none
            and applied != alluvium._generation(api.Relation.create(schema=node.schema, identifier=node.alias)) -%}
            {{ return(node.name ~ " was built anew or has had files replayed") }}
        {%- endif -%}
    {%- endfor -%}
    {%- set said = alluvium._describe_changed_options(alluvium._meaning_of_model(), [properties.declaration])
        if "declaration" in properties else none -%}
    {{ return(said ~ " than when it was built" if said else none) }}
{% endmacro %}


{# For drop_relation, which knows no model. Nothing takes the name of a view, which dbt drops. #}
{% macro _note_replaced() %}
    {%- set table =
        (load_relation(this) or {}) if execute and alluvium._is_run() and alluvium._is_own_table() else none -%}
    {%- if table is not none and (alluvium._is_hudi() or table.is_hudi) and not table.is_view
        and alluvium._remembered("is_replaced", this) is none -%}
        {%- if alluvium._has_another_format(table) -%}
            {%- do alluvium._require_views_over(model, "file_format", config.get("file_format")) -%}
            {%- do alluvium._remember("changes_format", this, true) -%}
        {%- endif -%}
        {%- do alluvium._remember("is_replaced", this, true) -%}
    {%- endif -%}
{% endmacro %}


{#
    A view is compiled for the format of its table. One over a `timestamp_ntz` of Delta's, where the table has moved to
    Hudi, casts the `timestamp` there to what it was (Spark 3.5): the time on a clock of the session's zone. _take_name
    drops the views, so that none is read before its model is built.
#}
{% macro _require_views_over(node, option, value) %}
    {%- for view in alluvium._views_over(node) if view.node.unique_id not in selected_resources -%}
        {% do alluvium._raise_invalid(
            "full refresh of model " ~ model.name, option, value,
            "another one than its table has where the views over it are built, too, as " ~ view.relation
            ~ ", which is compiled for the one that is there: " ~ alluvium._rebuild_command(this),
        ) %}
    {%- endfor -%}
{% endmacro %}


{#
    Delta 3.3.3 ends `create or replace table` with an error, after its commit, where a Hive metastore has the table and
    a column has a comma in its
    name: UpdateCatalog gives the metastore the columns of a table that it replaces, not those of a new one.
#}
{% macro _require_replaceable() %}
    {%- if execute and alluvium._is_run() and config.get("materialized") == "incremental"
        and load_relation(this) is not none
        and alluvium._remembered("is_replaceable", this) is none -%}
        {%- set columns = adapter.get_columns_in_relation(this) -%}
        {%- for column in columns if "," in column.name -%}
            {% do alluvium._raise_invalid(
                "full refresh of model " ~ model.name, "name of a column", column.name,
                "a name without a comma, or no table yet (`drop table " ~ this
                ~ "`): a Hive metastore takes such a name in a new table only",
            ) %}
        {%- endfor -%}
        {%- do
            alluvium._require_views_of_clock(columns) if alluvium._is_kept_by_key(model) and not alluvium._is_hudi() -%}
        {%- do alluvium._remember("is_replaceable", this, true) -%}
    {%- endif -%}
{% endmacro %}


{#
    As of the other format: a view casts a column to the type that it was made over, with an error or without a loss,
    but for two changes of a type (Spark 3.5). Of `timestamp` and `timestamp_ntz` it shows another time; of numbers that
    were `float` or `double` it shows 53 bits, or fewer.
#}
{% macro _require_views_of_clock(columns) %}
    {%- set types = {} -%}
    {%- for column in alluvium._feed_of_node("full refresh of model " ~ model.name, model).columns -%}
        {%- do types.update({column.name: column.data_type}) -%}
    {%- endfor -%}
    {%- for column in columns if column.name in types and types[column.name] != column.dtype
        and (
            column.dtype in ["float", "double"]
            or types[column.name] | replace("_ntz", "") == column.dtype | replace("_ntz", "")
        ) -%}
        {%- do alluvium._require_views_over(model, "type of column " ~ column.name, types[column.name]) -%}
    {%- endfor -%}
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
