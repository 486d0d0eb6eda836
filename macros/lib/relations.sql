{# dbt takes a table that it has asked to be dropped for one that is not there. #}
{% macro _is_in_catalog(relation) %}
    {{ return(
        alluvium._query_rows("show tables in " ~ relation.schema ~ " like '" ~ relation.identifier ~ "'") | length > 0
    ) }}
{% endmacro %}


{# A rename copies each file there, and AWS Glue renames no table. #}
{% macro _is_on_object_storage() %}
    {#- Not by spark.sql.warehouse.dir, of which Spark shows none that has `url` or `token` in it. -#}
    {%- set location =
        alluvium._query_rows("describe schema extended " ~ this.schema) | selectattr("info_name", "equalto", "Location")
        | map(attribute="info_value") | first -%}
    {{ return(alluvium._is_path_on_object_storage(location or "")) }}
{% endmacro %}


{% macro _is_path_on_object_storage(path) %}
    {{ return(modules.re.match("(?!file:|hdfs:)\\w+://", path) is not none) }}
{% endmacro %}


{#
    A relation's table as {relation, file_format}, the last as the catalog has it, whatever its model says now; none
    where it has none of Delta's or Hudi's. A relation that this run has made is in dbt's cache without a format: for
    operations. The files of a table of Hudi's are listed anew (_refresh_hudi_tables).
#}
{% macro _built_table(relation) %}
    {%- set table = load_relation(relation) -%}
    {%- if table is none or table.is_view or (table.is_delta is false and not table.is_hudi) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do run_query("refresh table " ~ relation) if table.is_hudi -%}
    {{ return({"relation": relation, "file_format": "hudi" if table.is_hudi else "delta"}) }}
{% endmacro %}


{# An ephemeral model is a part of those that read it. #}
{% macro _views_over(node) %}
    {%- set views = [] -%}
    {%- for child in
        graph.nodes.values() if child.resource_type == "model" and node.unique_id in child.depends_on.nodes -%}
        {%- set relation = load_relation(alluvium._relation_of_node(child))
            if child.config.materialized != "ephemeral" else none -%}
        {%- do views.append({"relation": relation, "node": child}) if relation and relation.is_view -%}
        {%- do views.extend(alluvium._views_over(child)) if child.config.materialized == "ephemeral" -%}
    {%- endfor -%}
    {{ return(views) }}
{% endmacro %}


{# Where a table's files would be; none where the catalog has no place for its schema. #}
{% macro _folder_of_table(table) %}
    {%- set location = alluvium._location_of_schema(table.schema) -%}
    {{ return(location.rstrip("/") ~ "/" ~ table.identifier if location else none) }}
{% endmacro %}


{#
    A table of binaryFile's lists the folder, since SQL has no other way to ask of one that may not be there. One that a
    killed run has left is taken, and dropped, by the next.
#}
{% macro _has_commits(table, folder, is_hudi) %}
    {%- set commits = alluvium._beside_table(table, "commits") -%}
    {%- do run_query(alluvium._create_commits_sql(commits, folder, is_hudi)) -%}
    {%- do run_query("refresh table " ~ commits) -%}
    {%- set is_there = alluvium._query_rows("select count(*) as commit_count from " ~ commits)[0].commit_count > 0 -%}
    {%- do run_query("drop table " ~ commits) -%}
    {{ return(is_there) }}
{% endmacro %}


{# Hudi's commits have names by its version; its properties are there before the first. #}
{% macro _create_commits_sql(commits, folder, is_hudi) -%}
    create table if not exists {{ commits }}
    using binaryFile
    options (
        '__globPaths__' 'false',
        'pathGlobFilter' {{ "'hoodie.properties'" if is_hudi else "'*.json'" }},
        'path' {{ alluvium._string_literal(folder ~ ("/.hoodie" if is_hudi else "/_delta_log")) }}
    )
{%- endmacro %}


{# The catalog has a URI, an option wants a path; `+` is itself in both, and a space to url_decode. #}
{% macro _location_of_schema(schema) %}
    {%- for row in alluvium._query_rows("describe schema " ~ schema) if row.info_name == "Location" -%}
        {%- if "%" not in row.info_value -%}
            {{ return(row.info_value) }}
        {%- endif -%}
        {%- set uri = alluvium._string_literal(row.info_value.replace("+", "%2B")) -%}
        {{ return(alluvium._query_rows("select url_decode(" ~ uri ~ ") as path")[0].path) }}
    {%- endfor -%}
{% endmacro %}


{% macro _beside_table(table, name) %}
    {{ return(api.Relation.create(schema=table.schema, identifier=table.identifier ~ "__" ~ name)) }}
{% endmacro %}


{#
    Replaces what a killed run has left. Created before it is filled: of a `create table as` that is killed the files
    stay without a table, and Spark refuses to create one there again.
#}
{% macro _create_empty(table, columns) %}
    {%- do run_query("drop table if exists " ~ table) -%}
    {%- do run_query("create table " ~ table ~ " (\n    " ~ columns | join(",\n    ") ~ "\n) using parquet") -%}
{% endmacro %}
