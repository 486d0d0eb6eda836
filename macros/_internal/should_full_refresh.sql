{#
    Overrides dbt's own, which knows `--full-refresh` and the configuration `full_refresh` alone; dbt takes it only from the root project. A table is
    built anew, too, where somebody has asked for that (reset_entity), and where an upstream that it has applied was built anew or has had files
    replayed since: events keep their positions when they are decoded otherwise, so a merge under the guard would keep the rows of before.
#}
{% macro should_full_refresh() %}
    {%- set is_asked = dbt.should_full_refresh() -%}
    {%- if not is_asked and not alluvium.is_to_be_rebuilt() -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if not is_asked and config.get("full_refresh") is not none -%}
        {% do alluvium.raise_invalid("model " ~ model.name, "full_refresh", config.get("full_refresh"), "none: " ~ alluvium.reason_to_rebuild(this)) %}
    {%- endif -%}
    {%- do alluvium.require_replaceable() -%}
    {%- do alluvium.note_replaced() -%}
    {{ return(true) }}
{% endmacro %}


{# For drop_relation, which knows no model. Nothing takes the name of a view, which dbt drops. #}
{% macro note_replaced() %}
    {%- set table = (load_relation(this) or {}) if execute and alluvium.is_run() and alluvium.is_own_table() else none -%}
    {%- if table is not none and (alluvium.is_hudi() or table.is_hudi) and not table.is_view and alluvium.remembered("is_replaced", this) is none -%}
        {%- if alluvium.has_another_format(table) -%}
            {%- do alluvium.require_views_over(model, "file_format", config.get("file_format")) -%}
            {%- do alluvium.remember("changes_format", this, true) -%}
        {%- endif -%}
        {%- do alluvium.remember("is_replaced", this, true) -%}
    {%- endif -%}
{% endmacro %}


{#
    A view is compiled for the format of its table. One over a `timestamp_ntz` of Delta's, where the table has moved to Hudi, casts the `timestamp` there to what it was (Spark 3.5):
    the time on a clock of the session's zone. take_name drops the views, so that none is read before its model is built.
#}
{% macro require_views_over(node, option, value) %}
    {%- for view in alluvium.views_over(node) if view.node.unique_id not in selected_resources -%}
        {% do alluvium.raise_invalid(
            "full refresh of model " ~ model.name, option, value,
            "another one than its table has where the views over it are built, too, as " ~ view.relation ~ ", which is compiled for the one that is there: " ~ alluvium.rebuild_command(this),
        ) %}
    {%- endfor -%}
{% endmacro %}


{# An ephemeral model is a part of those that read it. #}
{% macro views_over(node) %}
    {%- set views = [] -%}
    {%- for child in graph.nodes.values() if child.resource_type == "model" and node.unique_id in child.depends_on.nodes -%}
        {%- set relation = load_relation(api.Relation.create(schema=child.schema, identifier=child.alias)) if child.config.materialized != "ephemeral" else none -%}
        {%- do views.append({"relation": relation, "node": child}) if relation and relation.is_view -%}
        {%- do views.extend(alluvium.views_over(child)) if child.config.materialized == "ephemeral" -%}
    {%- endfor -%}
    {{ return(views) }}
{% endmacro %}


{#
    Delta 3.3.3 ends `create or replace table` with an error, after its commit, where a Hive metastore has the table and a column has a comma in its
    name: UpdateCatalog gives the metastore the columns of a table that it replaces, not those of a new one.
#}
{% macro require_replaceable() %}
    {%- if execute and alluvium.is_run() and config.get("materialized") == "incremental" and load_relation(this) is not none
        and alluvium.remembered("is_replaceable", this) is none -%}
        {%- set columns = adapter.get_columns_in_relation(this) -%}
        {%- for column in columns if "," in column.name -%}
            {% do alluvium.raise_invalid(
                "full refresh of model " ~ model.name, "name of a column", column.name,
                "a name without a comma, or no table yet (`drop table " ~ this ~ "`): a Hive metastore takes such a name in a new table only",
            ) %}
        {%- endfor -%}
        {%- do alluvium.require_views_of_clock(columns) if alluvium.is_kept_by_key(model) and not alluvium.is_hudi() -%}
        {%- do alluvium.remember("is_replaceable", this, true) -%}
    {%- endif -%}
{% endmacro %}


{#
    As of the other format: a view casts a column to the type that it was made over, with an error or without a loss, but for two changes of a type (Spark 3.5). Of `timestamp` and
    `timestamp_ntz` it shows another time; of numbers that were `float` or `double` it shows 53 bits, or fewer.
#}
{% macro require_views_of_clock(columns) %}
    {%- set types = {} -%}
    {%- for column in alluvium.feed_of_node("full refresh of model " ~ model.name, model).columns -%}
        {%- do types.update({column.name: column.data_type}) -%}
    {%- endfor -%}
    {%- for column in columns if column.name in types and types[column.name] != column.dtype
        and (column.dtype in ["float", "double"] or types[column.name] | replace("_ntz", "") == column.dtype | replace("_ntz", "")) -%}
        {%- do alluvium.require_views_over(model, "type of column " ~ column.name, types[column.name]) -%}
    {%- endfor -%}
{% endmacro %}


{# Found once in a run, when the model compiles: what says so goes with the table that is replaced. #}
{% macro is_to_be_rebuilt() %}
    {%- if not execute or not alluvium.is_run() or flags.EMPTY or config.get("materialized") != "incremental"
        or config.get("incremental_strategy") not in ["append", "merge"]
        or not (alluvium.is_log(model) or alluvium.is_merged_from_batches(model)) or load_relation(this) is none -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set found = alluvium.remembered("is_to_be_rebuilt", this) -%}
    {%- if found is not none -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set reason = alluvium.reason_to_rebuild(this) -%}
    {%- do log(model.name ~ ": built anew, since " ~ reason, info=true) if reason -%}
    {%- do alluvium.remember("is_to_be_rebuilt", this, reason is not none) -%}
    {{ return(reason is not none) }}
{% endmacro %}


{#
    Why the model's table cannot go on from what it has, in words; none where it can. A run that was killed before it wrote down what it has
    applied leaves nothing of that: of a table that is built from a log of its own the log's generation is compared all the same.
#}
{% macro reason_to_rebuild(table) %}
    {%- set properties = alluvium.table_properties(table) -%}
    {%- if "rebuild_begun" in properties -%}
        {{ return("a rebuild of it was not finished") }}
    {%- endif -%}
    {%- if "rebuild_requested" in properties -%}
        {{ return("reset_entity has asked for it") }}
    {%- endif -%}
    {%- if alluvium.is_taken_back(table, properties) -%}
        {{ return("its newest commits were taken back") }}
    {%- endif -%}
    {%- set reads_own_log = alluvium.reads_own_log(model) -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- set node = graph.nodes[parent] -%}
        {%- set applied = properties.get("applied_generation." ~ node.alias, "none" if reads_own_log and loop.first else none) -%}
        {%- if applied is not none and applied != alluvium.generation(api.Relation.create(schema=node.schema, identifier=node.alias)) -%}
            {{ return(node.name ~ " was built anew or has had files replayed") }}
        {%- endif -%}
    {%- endfor -%}
    {%- set said = alluvium.said_of_changed_options(alluvium.meaning_of_model(), [properties.declaration]) if "declaration" in properties else none -%}
    {{ return(said ~ " than when it was built" if said else none) }}
{% endmacro %}
