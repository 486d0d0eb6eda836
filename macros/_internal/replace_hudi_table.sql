{#
    A table that is there and would be made the same is overwritten, in one commit of Hudi's: what fails or is killed leaves its rows, and nothing is moved. What it had
    applied is forgotten afterwards, and a run that did not come to that is followed by another rebuild. Any other table is replaced.
#}
{% macro replace_hudi_table(relation, compiled_code, properties) %}
    {%- set rows = alluvium.view_of_rows(relation, compiled_code) -%}
    {%- set columns = alluvium.columns_in_relation(rows) -%}
    {%- do alluvium.require_columns_of_hudi("model " ~ relation.identifier, columns) -%}
    {%- do alluvium.require_partitions("model " ~ relation.identifier, columns) -%}
    {%- do alluvium.drop_tables_beside(relation, "rebuilt") -%}
    {%- if not properties and alluvium.is_made_as(relation, columns) -%}
        {%- set newest = alluvium.require_clock_of_hudi("create_table_as", relation) -%}
        {%- do alluvium.drop_tables_beside(relation, "replaced") -%}
        {%- do alluvium.set_properties(relation, {"rebuild_begun": alluvium.run_id(), "rebuilt_after": newest.commit_time if newest else "0"}) -%}
        {%- do run_query(alluvium.write_whole_sql(rows, relation, columns)) -%}
        {{ return(alluvium.forget_properties_sql(relation)) }}
    {%- elif alluvium.is_on_object_storage() and not alluvium.is_in_catalog(relation) -%}
        {%- do run_query(alluvium.create_hudi_table_sql(relation, columns, properties)) -%}
        {{ return(alluvium.write_whole_sql(rows, relation, columns)) }}
    {%- endif -%}
    {%- set rebuilt = alluvium.name_of_rebuilt(relation) -%}
    {%- do run_query(alluvium.create_hudi_table_sql(rebuilt, columns, properties)) -%}
    {%- do run_query(alluvium.write_whole_sql(rows, rebuilt, columns)) -%}
    {{ return(alluvium.take_name(relation, rebuilt)) }}
{% endmacro %}


{% macro view_of_rows(relation, compiled_code) %}
    {%- set rows = api.Relation.create(identifier=relation.identifier ~ "__rows") -%}
    {%- do run_query("create or replace temporary view " ~ rows ~ " as\n" ~ compiled_code) -%}
    {{ return(rows) }}
{% endmacro %}


{% macro create_hudi_table_sql(relation, columns, properties) -%}
{%- set all_properties = alluvium.hudi_properties("_cdc_record_key" in columns | map(attribute="name")) -%}
{%- set made_as = alluvium.fingerprint_of_making(all_properties) -%}
{%- do all_properties.update(properties) -%}
{%- do all_properties.update({"alluvium.made_as": made_as}) -%}
create table {{ relation }} (
    {%- for column in alluvium.columns_before_partitions(columns) %}
    {{ alluvium.quoted_identifier(column.name) }} {{ alluvium.stored_type(column.dtype) }}{{ "," if not loop.last }}
    {%- endfor %}
)
using hudi
{{- alluvium.partition_clause_of_hudi(columns) }}
tblproperties (
    {%- for name, value in all_properties.items() %}
    {{ alluvium.string_literal(name) }} = {{ alluvium.string_literal(value) }}{{ "," if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{# As Spark's catalog has a table's columns, whatever their order is in the model. Hudi takes no other order of those that partition (1.2.0). #}
{% macro columns_before_partitions(columns) %}
    {%- set partitions = alluvium.spelled_partitions(columns) -%}
    {%- set ordered = columns | rejectattr("name", "in", partitions) | list -%}
    {%- for name in partitions -%}
        {%- do ordered.extend(columns | selectattr("name", "equalto", name)) -%}
    {%- endfor -%}
    {{ return(ordered) }}
{% endmacro %}


{% macro partition_clause_of_hudi(columns) %}
    {%- set names = alluvium.spelled_partitions(columns) -%}
    {{ return("\npartitioned by (" ~ alluvium.column_list(names) | join(", ") ~ ")" if names else "") }}
{% endmacro %}


{# With the names as the columns have them: Hudi finds no other (1.2.0). #}
{% macro spelled_partitions(columns) %}
    {%- set spelled, names = {}, [] -%}
    {%- for column in columns -%}
        {%- do spelled.update({column.name | lower: column.name}) -%}
    {%- endfor -%}
    {%- for name in alluvium.partition_names() -%}
        {%- do names.append(spelled.get(name | lower, name)) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro write_whole_sql(rows, table, columns) %}
    {{ return(alluvium.insert_into_sql(rows, table, columns | map(attribute="name") | list, "overwrite", alluvium.stored_columns(columns))) }}
{% endmacro %}


{# Of this run: a kill between the folder of a table and its entry in the catalog leaves a folder, and Spark creates no table over one that has files (3.5). #}
{% macro name_of_rebuilt(relation) %}
    {{ return(alluvium.beside_table(relation, "rebuilt_" ~ alluvium.run_id())) }}
{% endmacro %}


{# The table that was built beside it takes the name. The statement that is left over, since dbt runs one, finds nothing to drop. #}
{% macro take_name(relation, rebuilt) %}
    {%- set replaced = alluvium.beside_table(relation, "replaced_" ~ alluvium.run_id()) -%}
    {%- do run_query("alter table " ~ relation ~ " rename to " ~ replaced) if alluvium.is_in_catalog(relation) -%}
    {%- if alluvium.remembered("changes_format", relation) -%}
        {%- for view in alluvium.views_over(model) -%}
            {%- do run_query("drop view if exists " ~ view.relation) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do run_query("alter table " ~ rebuilt ~ " rename to " ~ relation) -%}
    {#- This run's, and those of a killed one, which until here may be all that there is of the old rows. -#}
    {%- do alluvium.drop_tables_beside(relation, "replaced") -%}
    {{ return("drop table if exists " ~ replaced) }}
{% endmacro %}


{# dbt takes a table that it has asked to be dropped for one that is not there. #}
{% macro is_in_catalog(relation) %}
    {{ return(alluvium.query_rows("show tables in " ~ relation.schema ~ " like '" ~ relation.identifier ~ "'") | length > 0) }}
{% endmacro %}


{# A rename copies each file there, and AWS Glue renames no table. #}
{% macro is_on_object_storage() %}
    {#- Not by spark.sql.warehouse.dir, of which Spark shows none that has `url` or `token` in it. -#}
    {%- set location = alluvium.query_rows("describe schema extended " ~ this.schema) | selectattr("info_name", "equalto", "Location") | map(attribute="info_value") | first -%}
    {{ return(alluvium.is_path_on_object_storage(location or "")) }}
{% endmacro %}


{% macro is_path_on_object_storage(path) %}
    {{ return(modules.re.match("(?!file:|hdfs:)\\w+://", path) is not none) }}
{% endmacro %}


{# Of the properties that a table of Hudi's was created with, and its partitions. Hudi keeps most of them as they are, whatever the model says later. #}
{% macro fingerprint_of_making(properties) %}
    {{ return(local_md5(tojson([properties, config.get("partition_by")], sort_keys=true))) }}
{% endmacro %}


{# In this order, as Delta's tables have it after a full refresh: a `union all` of two goes by it. #}
{% macro is_made_as(relation, columns) %}
    {%- set stored, wanted = [], [] -%}
    {%- if alluvium.is_in_catalog(relation)
        and alluvium.table_property(relation, "made_as") == alluvium.fingerprint_of_making(alluvium.hudi_properties("_cdc_record_key" in columns | map(attribute="name"))) -%}
        {%- for column in alluvium.columns_in_relation(relation) -%}
            {%- do stored.append([column.name, column.dtype]) -%}
        {%- endfor -%}
        {%- for column in alluvium.columns_before_partitions(columns) -%}
            {%- do wanted.append([column.name, alluvium.stored_type(column.dtype)]) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(stored == wanted and stored != []) }}
{% endmacro %}


{% macro forget_properties_sql(relation) %}
    {%- set names = alluvium.table_properties(relation).keys() | reject("in", ["made_as", "rebuilt_after"]) | list -%}
    {{ return(alluvium.unset_properties_sql(relation, (["rebuild_begun"] + names) | unique)) }}
{% endmacro %}


{% macro drop_tables_beside(relation, name) %}
    {%- for table in alluvium.tables_of_runs(relation.schema, relation.identifier, name) -%}
        {%- do run_query("drop table if exists " ~ table.relation) -%}
    {%- endfor -%}
{% endmacro %}


{#
    By the id of a run: a model's own name may begin with that of another, and go on with the word. Hudi's tool registers `_ro` and `_rt` beside a table of Merge on Read, also under its working
    name (`hoodie.datasource.hive_sync.enable`).
#}
{% macro tables_of_runs(schema, name, word) %}
    {%- set tables = [] -%}
    {%- for row in alluvium.query_rows("show tables in " ~ schema ~ " like '" ~ name ~ "__" ~ word ~ "_*'") -%}
        {%- set found = modules.re.fullmatch("(.+)__" ~ word ~ "_([0-9a-f]{32})(_ro|_rt)?", row.tableName) -%}
        {%- if found and name | lower in ["*", found.group(1) | lower] -%}
            {%- do tables.append({"relation": api.Relation.create(schema=schema, identifier=row.tableName), "beside": found.group(1), "run_id": found.group(2)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}
