{#
    A table that is there and would be made the same is overwritten, in one commit of Hudi's: what fails or is killed
    leaves its rows, and nothing is moved. What it had applied is forgotten afterwards, and a run that did not come to
    that is followed by another rebuild. Any other table is replaced.
#}
{% macro _replace_hudi_table(relation, compiled_code, properties) %}
    {%- set rows = alluvium._view_of_rows(relation, compiled_code) -%}
    {%- set columns = alluvium._columns_in_relation(rows) -%}
    {%- do alluvium._require_columns_of_hudi("model " ~ relation.identifier, columns) -%}
    {%- do alluvium._require_partitions("model " ~ relation.identifier, columns) -%}
    {%- do alluvium._drop_tables_beside(relation, "rebuilt") -%}
    {%- if not properties and alluvium._is_made_as(relation, columns) -%}
        {%- set newest = alluvium._require_clock_of_hudi("create_table_as", relation) -%}
        {%- do alluvium._drop_tables_beside(relation, "replaced") -%}
        {%- do alluvium._set_properties(
            relation, {"rebuild_begun": alluvium._run_id(), "rebuilt_after": newest.commit_time if newest else "0"}
        ) -%}
        {%- do run_query(alluvium._write_whole_sql(rows, relation, columns)) -%}
        {{ return(alluvium._forget_properties_sql(relation)) }}
    {%- elif alluvium._is_on_object_storage() and not alluvium._is_in_catalog(relation) -%}
        {%- do run_query(alluvium._create_hudi_table_sql(relation, columns, properties)) -%}
        {{ return(alluvium._write_whole_sql(rows, relation, columns)) }}
    {%- endif -%}
    {%- set rebuilt = alluvium._name_of_rebuilt(relation) -%}
    {%- do run_query(alluvium._create_hudi_table_sql(rebuilt, columns, properties)) -%}
    {%- do run_query(alluvium._write_whole_sql(rows, rebuilt, columns)) -%}
    {{ return(alluvium._take_name(relation, rebuilt)) }}
{% endmacro %}


{#
    What was built beside a table is of no use then: the next build of the model may be one that replaces nothing. And a
    session keeps what it knows of a table, also of a write that has failed; the next one takes that back, and if it
    fails, too, the session looks for what is gone: nobody could read the table before a build succeeds (1.0.2,
    FileNotFoundException of a `.replacecommit.requested`; not seen with 1.2.0). The refresh is to go with 1.0.
#}
{% macro _clean_up_failed_tables(results) %}
    {%- for result in results if result.status == "error" and result.node.unique_id in graph.nodes -%}
        {%- set node = graph.nodes[result.node.unique_id] -%}
        {%- set table = alluvium._relation_of_node(node) -%}
        {%- do run_query("drop table if exists " ~ alluvium._name_of_rebuilt(table))
            if node.config.materialized in ["incremental", "table"] -%}
        {%- do run_query("refresh table " ~ table)
            if node.config.file_format == "hudi" and alluvium._is_in_catalog(table)
            and alluvium._is_session_of_hudi_1_0() -%}
    {%- endfor -%}
{% endmacro %}


{% macro _view_of_rows(relation, compiled_code) %}
    {%- set rows = api.Relation.create(identifier=relation.identifier ~ "__rows") -%}
    {%- do run_query("create or replace temporary view " ~ rows ~ " as\n" ~ compiled_code) -%}
    {{ return(rows) }}
{% endmacro %}


{% macro _create_hudi_table_sql(relation, columns, properties) -%}
{%- set all_properties = alluvium._hudi_properties("_cdc_record_key" in columns | map(attribute="name")) -%}
{%- set made_as = alluvium._fingerprint_of_making(all_properties) -%}
{%- do all_properties.update(properties) -%}
{%- do all_properties.update({"alluvium.made_as": made_as}) -%}
create table {{ relation }} (
    {%- for column in alluvium._columns_before_partitions(columns) %}
    {{ alluvium._quoted_identifier(column.name) }} {{ alluvium._stored_type(column.dtype) }}{{ "," if not loop.last }}
    {%- endfor %}
)
using hudi
{{- alluvium._partition_clause_of_hudi(columns) }}
tblproperties (
    {%- for name, value in all_properties.items() %}
    {{ alluvium._string_literal(name) }} = {{ alluvium._string_literal(value) }}{{ "," if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#
    As Spark's catalog has a table's columns, whatever their order is in the model. Hudi takes no other order of those
    that partition (1.2.0).
#}
{% macro _columns_before_partitions(columns) %}
    {%- set partitions = alluvium._spelled_partitions(columns) -%}
    {%- set ordered = columns | rejectattr("name", "in", partitions) | list -%}
    {%- for name in partitions -%}
        {%- do ordered.extend(columns | selectattr("name", "equalto", name)) -%}
    {%- endfor -%}
    {{ return(ordered) }}
{% endmacro %}


{% macro _partition_clause_of_hudi(columns) %}
    {%- set names = alluvium._spelled_partitions(columns) -%}
    {{ return("\npartitioned by (" ~ alluvium._column_list(names) | join(", ") ~ ")" if names else "") }}
{% endmacro %}


{# With the names as the columns have them: Hudi finds no other (1.2.0). #}
{% macro _spelled_partitions(columns) %}
    {%- set spelled, names = {}, [] -%}
    {%- for column in columns -%}
        {%- do spelled.update({column.name | lower: column.name}) -%}
    {%- endfor -%}
    {%- for name in alluvium._partition_names() -%}
        {%- do names.append(spelled.get(name | lower, name)) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro _write_whole_sql(rows, table, columns) %}
    {{ return(
        alluvium._insert_into_sql(
            rows, table, columns | map(attribute="name") | list, "overwrite", alluvium._stored_columns(columns)
        )
    ) }}
{% endmacro %}


{#
    Of this run: a kill between the folder of a table and its entry in the catalog leaves a folder, and Spark creates no
    table over one that has files (3.5).
#}
{% macro _name_of_rebuilt(relation) %}
    {{ return(alluvium._beside_table(relation, "rebuilt_" ~ alluvium._run_id())) }}
{% endmacro %}


{#
    The table that was built beside it takes the name. The statement that is left over, since dbt runs one, finds
    nothing to drop.
#}
{% macro _take_name(relation, rebuilt) %}
    {%- set replaced = alluvium._beside_table(relation, "replaced_" ~ alluvium._run_id()) -%}
    {%- do run_query("alter table " ~ relation ~ " rename to " ~ replaced) if alluvium._is_in_catalog(relation) -%}
    {%- if alluvium._remembered("changes_format", relation) -%}
        {%- for view in alluvium._views_over(model) -%}
            {%- do run_query("drop view if exists " ~ view.relation) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do run_query("alter table " ~ rebuilt ~ " rename to " ~ relation) -%}
    {#- This run's, and those of a killed one, which until here may be all that there is of the old rows. -#}
    {%- do alluvium._drop_tables_beside(relation, "replaced") -%}
    {{ return("drop table if exists " ~ replaced) }}
{% endmacro %}


{#
    Of the properties that a table of Hudi's was created with, and its partitions. Hudi keeps most of them as they are,
    whatever the model says later.
#}
{% macro _fingerprint_of_making(properties) %}
    {{ return(local_md5(tojson([properties, config.get("partition_by")], sort_keys=true))) }}
{% endmacro %}


{# In this order, as Delta's tables have it after a full refresh: a `union all` of two goes by it. #}
{% macro _is_made_as(relation, columns) %}
    {%- set stored, wanted = [], [] -%}
    {%- if alluvium._is_in_catalog(relation)
        and alluvium._table_property(relation, "made_as") == alluvium._fingerprint_of_making(
            alluvium._hudi_properties("_cdc_record_key" in columns | map(attribute="name"))
        ) -%}
        {%- for column in alluvium._columns_in_relation(relation) -%}
            {%- do stored.append([column.name, column.dtype]) -%}
        {%- endfor -%}
        {%- for column in alluvium._columns_before_partitions(columns) -%}
            {%- do wanted.append([column.name, alluvium._stored_type(column.dtype)]) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(stored == wanted and stored != []) }}
{% endmacro %}


{% macro _forget_properties_sql(relation) %}
    {%- set names = alluvium._table_properties(relation).keys() | reject("in", ["made_as", "rebuilt_after"]) | list -%}
    {{ return(alluvium._unset_properties_sql(relation, (["rebuild_begun"] + names) | unique)) }}
{% endmacro %}


{% macro _drop_tables_beside(relation, name) %}
    {%- for table in alluvium._tables_of_runs(relation.schema, relation.identifier, name) -%}
        {%- do run_query("drop table if exists " ~ table.relation) -%}
    {%- endfor -%}
{% endmacro %}


{#
    By the id of a run: a model's own name may begin with that of another, and go on with the word. Hudi's tool
    registers `_ro` and `_rt` beside a table of Merge on Read, also under its working name
    (`hoodie.datasource.hive_sync.enable`).
#}
{% macro _tables_of_runs(schema, name, word) %}
    {%- set tables = [] -%}
    {%- for row in alluvium._query_rows("show tables in " ~ schema ~ " like '" ~ name ~ "__" ~ word ~ "_*'") -%}
        {%- set found = modules.re.fullmatch("(.+)__" ~ word ~ "_([0-9a-f]{32})(_ro|_rt)?", row.tableName) -%}
        {%- if found and name | lower in ["*", found.group(1) | lower] -%}
            {%- do tables.append(
                {
                    "relation": api.Relation.create(schema=schema, identifier=row.tableName), "beside": found.group(1),
                    "run_id": found.group(2)
                }
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}
