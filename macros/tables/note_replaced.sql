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
