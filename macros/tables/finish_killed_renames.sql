{#
    Hive's metastore (2.3) moves a table's folder, and enters the new name afterwards. Of a build that is killed in
    between, the catalog has a table whose folder is another's: without this, each build that follows ends with
    TableNotFoundException, where a table was to make room, or LOCATION_ALREADY_EXISTS, where the new one was to take
    the name. Nothing is asked of the folders where the catalog has no table that such a build has left. Of one that was
    killed after its table had got the name, the old table is left, which goes.
#}
{% macro _finish_killed_renames() %}
    {%- for schema in alluvium._schemas_of_selected_tables() -%}
        {%- for rebuilt in
            alluvium._tables_of_runs(schema, "*", "rebuilt") if rebuilt.relation.identifier.endswith(rebuilt.run_id) -%}
            {%- do alluvium._finish_killed_rename(schema, rebuilt.beside, rebuilt.run_id) -%}
        {%- endfor -%}
        {%- for replaced in alluvium._tables_of_runs(schema, "*", "replaced") -%}
            {%- do alluvium._drop_replaced_table(schema, replaced) -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{# Of the models that are selected, whose schemas dbt has made. #}
{% macro _schemas_of_selected_tables() %}
    {%- set schemas = [] -%}
    {%- for id in selected_resources if id in graph.nodes -%}
        {%- set node = graph.nodes[id] -%}
        {%- do schemas.append(node.schema)
            if node.resource_type == "model" and node.config.materialized in ["incremental", "table"] -%}
    {%- endfor -%}
    {{ return(schemas | unique | list) }}
{% endmacro %}


{#
    The old rows stay where the old table was to make room; the next rebuild comes to the new ones. Where a table of
    Hudi's was to take the name, it goes with its folder: Spark gives no table a name whose folder is there. A hand is
    needed for one of Delta's, which would be an external table, whose folder no later rename moves, and on object
    storage, where a rename copies file by file, and a killed one may have left some of them in each place.
#}
{% macro _finish_killed_rename(schema, name, run_id) %}
    {%- set table = api.Relation.create(schema=schema, identifier=name) -%}
    {%- set rebuilt = load_relation(alluvium._beside_table(table, "rebuilt_" ~ run_id)) -%}
    {%- set entry = load_relation(table) or rebuilt -%}
    {%- set moved = table if entry == rebuilt else alluvium._beside_table(table, "replaced_" ~ run_id) -%}
    {%- set folder = alluvium._folder_of_table(moved) -%}
    {%- if folder and (entry.is_hudi or entry != rebuilt) and not alluvium._is_path_on_object_storage(folder)
        and load_relation(moved) is none
        and alluvium._has_commits(moved, folder, entry.is_hudi)
        and not alluvium._has_commits(entry, alluvium._folder_of_table(entry), entry.is_hudi) -%}
        {%- do alluvium._move_to_folder(entry, folder) -%}
        {%- do adapter.drop_relation(rebuilt) -%}
    {%- endif -%}
{% endmacro %}


{# Delta looks for the old folder first (3.3.3), so its table is entered anew. #}
{% macro _move_to_folder(table, folder) %}
    {%- do log(
            "Found " ~ table ~ " as a build has left it that was killed while it gave a table its name; mended",
            info=true
        ) -%}
    {%- if table.is_hudi -%}
        {%- do run_query("alter table " ~ table ~ " set location " ~ alluvium._string_literal(folder)) -%}
    {%- else -%}
        {%- do adapter.drop_relation(table) -%}
        {%- do run_query("create table " ~ table ~ " using delta location " ~ alluvium._string_literal(folder)) -%}
        {%- do adapter.cache_added(table) -%}
    {%- endif -%}
{% endmacro %}


{#
    Until the new table has the name, this one may be all that there is of the old rows. On object storage a first table
    has its name before it has rows, so that a hand is needed there.
#}
{% macro _drop_replaced_table(schema, replaced) %}
    {%- set table = load_relation(api.Relation.create(schema=schema, identifier=replaced.beside)) -%}
    {%- set folder = alluvium._folder_of_table(table) if table else none -%}
    {%- if folder and load_relation(alluvium._beside_table(table, "rebuilt_" ~ replaced.run_id)) is none
        and not alluvium._is_path_on_object_storage(folder)
        and alluvium._has_commits(table, folder, table.is_hudi) -%}
        {%- do run_query("drop table if exists " ~ replaced.relation) -%}
    {%- endif -%}
{% endmacro %}
