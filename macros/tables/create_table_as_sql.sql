{% macro _create_table_as_sql(temporary, relation, compiled_code, language) %}
    {%- if alluvium._is_unit_test() -%}
        {{ return(dbt.spark__create_table_as(temporary, relation, compiled_code, language)) }}
    {%- endif -%}
    {%- do alluvium._require_whole_body(compiled_code) -%}
    {%- set is_own_table = alluvium._is_own_table() -%}
    {%- if is_own_table -%}
        {%- do alluvium._require_no_own_filter("create_table_as")
            if alluvium._is_hudi_mart() and config.get("incremental_strategy") == "merge" -%}
        {%- do alluvium._require_no_hidden_columns(compiled_code) -%}
        {#- The view of a temporary table is the session's: what another build is about to write would be replaced. -#}
        {%- do alluvium._require_claimed_session("create_table_as") -%}
        {#- A table that is built anew is not read, and may be one that cannot be. -#}
        {%- do alluvium._refresh_hudi_tables(this if temporary else none, model) -%}
    {%- endif -%}
    {%- do alluvium._require_name_of_its_own("create_table_as")
        if temporary or (is_own_table and alluvium._has_view_of_rows(model)) -%}
    {%- if language == "sql" and alluvium._partition_names() and alluvium._kind_of_model(model)
        and not alluvium._is_kept_by_key(model) -%}
        {%- set compiled_code = alluvium._partitioned_rows("model " ~ model.name, compiled_code) -%}
    {%- endif -%}
    {%- if temporary and alluvium._is_hudi_mart() -%}
        {#- dbt refuses a mart whose table has other types than its model. -#}
        {%- set rows = alluvium._view_of_rows(relation, compiled_code) -%}
        {%- set compiled_code =
            "select " ~ alluvium._stored_columns(alluvium._columns_in_relation(rows)) | join(", ") ~ " from " ~ rows -%}
    {%- endif -%}
    {%- if not temporary and not alluvium._is_hudi() and alluvium._remembered("is_replaced", relation) -%}
        {%- set rebuilt = alluvium._name_of_rebuilt(relation) -%}
        {%- do alluvium._drop_tables_beside(relation, "rebuilt") -%}
        {%- do run_query(dbt.spark__create_table_as(false, rebuilt, compiled_code, language)) -%}
        {{ return(alluvium._take_name(relation, rebuilt)) }}
    {%- elif temporary or not alluvium._is_own_hudi_table() -%}
        {{ return(dbt.spark__create_table_as(temporary, relation, compiled_code, language)) }}
    {%- endif -%}
    {%- if (config.get("contract") or {}).enforced -%}
        {%- do get_assert_columns_equivalent(compiled_code) -%}
        {%- set compiled_code = get_select_subquery(compiled_code) -%}
    {%- endif -%}
    {{ return(alluvium._replace_hudi_table(relation, compiled_code, {})) }}
{% endmacro %}


{#
    dbt-spark (1.11) names the view of the rows that an incremental model is about to write after the model's table,
    without its schema, as a table of Hudi's has one (_view_of_rows): threads of one session would replace each other's.
#}
{% macro _require_name_of_its_own(caller_name) %}
    {%- for node in
        graph.nodes.values() if node.resource_type == "model" and node.alias | lower == this.identifier | lower -%}
        {%- if node.schema != this.schema and alluvium._has_view_of_rows(node) -%}
            {% do alluvium._raise_invalid(
                caller_name ~ ": model " ~ model.name, "name of its table", this.identifier,
                "one that no incremental model, or table of Hudi's, has in another schema, as " ~ node.name ~ " has in "
                ~ node.schema ~ ": dbt would take the rows of the one for the other's",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{% macro _has_view_of_rows(node) %}
    {{ return(
        node.config.materialized == "incremental"
        or (node.config.materialized == "table" and node.config.file_format == "hudi")
    ) }}
{% endmacro %}


{% macro _is_own_table() %}
    {{ return(
        config.get("materialized") in ["incremental", "table"]
        and (alluvium._is_merged_from_batches(model) or alluvium._kind_of_model(model) == "mart")
    ) }}
{% endmacro %}


{# Not a model of another kind in a project that has this one as a package. #}
{% macro _is_own_hudi_table() %}
    {{ return(alluvium._is_hudi() and alluvium._is_own_table()) }}
{% endmacro %}


{% macro _is_hudi_mart() %}
    {{ return(alluvium._is_own_hudi_table() and not alluvium._is_kept_by_key(model)) }}
{% endmacro %}


{# A statement in the one format does not fit a table of the other. #}
{% macro _require_format_of_table(caller_name) %}
    {%- set table = load_relation(this) -%}
    {%- if alluvium._has_another_format(table) -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "file_format", config.get("file_format"),
            ("hudi" if table.is_hudi else "delta") ~ ", as the table has it; another one needs "
            ~ alluvium._rebuild_command(this),
        ) %}
    {%- endif -%}
{% endmacro %}


{% macro _has_another_format(table) %}
    {{ return(table and table.is_hudi is not none and table.is_hudi != alluvium._is_hudi()) }}
{% endmacro %}


{#
    Properties that no later statement gives to a table: one that was made before this project had them hides rows from
    filters, may be overwritten in a mode of the session's, or, by Hudi 1.0 and without the payload, keeps rows that are
    to go.
#}
{% macro _require_properties_of_hudi_table(caller_name, table) %}
    {%- set wanted, found = alluvium._fixed_properties_of_hudi(false), alluvium._properties_as_shown(table) -%}
    {%- do wanted.update(alluvium._properties_of_hudi_1_0(alluvium._table_version_of_hudi()))
        if alluvium._is_kept_by_key(model) -%}
    {%- set asked =
        ["hoodie.datasource.overwrite.mode", "hoodie.metadata.index.column.stats.enable", "payloadClass"] -%}
    {%- for name, value in wanted.items() if name in asked and found.get(name) != value -%}
        {% do alluvium._raise_invalid(
            caller_name, "property " ~ name ~ " of " ~ table, found.get(name),
            value ~ ", as tables that are made now have it: " ~ alluvium._rebuild_command(table)
        ) %}
    {%- endfor -%}
{% endmacro %}
