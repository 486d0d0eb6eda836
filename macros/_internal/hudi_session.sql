{#
    A session without its extension knows no table of Hudi's; a root project that does not pass on who creates and drops tables would have them made by
    dbt-spark, without a key.
#}
{% macro require_hudi(caller_name) %}
    {#- dbt (1.11) takes a literal alone for the name that is dispatched. -#}
    {%- set asked = {
        "spark__create_table_as": adapter.dispatch("create_table_as", "dbt"),
        "spark__drop_relation": adapter.dispatch("drop_relation", "dbt"),
        "spark__alter_relation_add_remove_columns": adapter.dispatch("alter_relation_add_remove_columns", "dbt"),
    } -%}
    {%- for own, found in asked.items() -%}
        {%- do alluvium.require_passed_on(caller_name, "a table of Hudi's", own, found.macro) -%}
    {%- endfor -%}
    {%- if alluvium.own_config().get("location_root") -%}
        {% do alluvium.raise_invalid(caller_name, "location_root", alluvium.own_config().get("location_root"), "none, where file_format is hudi: a rename of a table would leave its files there") %}
    {%- endif -%}
    {#- A table that was renamed keeps its first name in its schema, and Hudi (1.2.0) takes that for another schema where a column gets a comment. -#}
    {%- if (alluvium.own_config().get("persist_docs") or {}).columns -%}
        {% do alluvium.raise_invalid(caller_name, "persist_docs.columns", true, "false, where file_format is hudi: Hudi would refuse the comment after each build (Failed schema compatibility check)") %}
    {%- endif -%}
    {%- do alluvium.require_session_of_hudi(caller_name) if alluvium.is_run() -%}
{% endmacro %}


{% macro require_session_of_hudi(caller_name) %}
    {%- set settings = {} -%}
    {%- for row in alluvium.query_rows("set") -%}
        {%- do settings.update({row.key: row.value}) -%}
    {%- endfor -%}
    {%- if not alluvium.knows_hudi(settings.get("spark.sql.extensions")) -%}
        {% do alluvium.raise_invalid(caller_name, "file_format", "hudi", "delta, or " ~ alluvium.session_with_hudi()) %}
    {%- endif -%}
    {#- Older ones take options that these tables rest on without a word. -#}
    {%- set version = alluvium.require_one_of(caller_name, "version of Hudi's tables (SIX by 0.15, EIGHT by 1.0, NINE by 1.2)", alluvium.table_version_of_hudi(), ["EIGHT", "NINE"]) -%}
    {%- set own = dict(alluvium.fixed_properties_of_hudi(true), **alluvium.properties_of_hudi_1_0(version)) -%}
    {%- for name, value in settings.items() -%}
        {%- do alluvium.require_setting_of_hudi(caller_name, "setting of the session", name, value, own) -%}
    {%- endfor -%}
    {%- for name, value in alluvium.defaults_of_hudi().items() -%}
        {%- do alluvium.require_setting_of_hudi(caller_name, "hudi-defaults.conf", name, value, own) -%}
    {%- endfor -%}
{% endmacro %}


{# What a file of the machine says (`/etc/hudi/conf` or HUDI_CONF_DIR). #}
{% macro defaults_of_hudi() %}
    {%- set call = "java_method('org.apache.hudi.common.config.DFSPropertiesConfiguration', 'getGlobalProps')" -%}
    {%- set defaults = {} -%}
    {%- for row in alluvium.query_rows("select " ~ call ~ " as defaults") -%}
        {%- for name, value in modules.re.findall("([\\w.]+)=([^,}]*)", row.defaults) -%}
            {%- do defaults.update({name: value}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(defaults) }}
{% endmacro %}


{#
    Either comes before a table's own properties, for whoever writes and whoever reads (1.2.0): after `set hoodie.index.type = SIMPLE` of one client of a server, rows that move
    would be in every table twice, and a query of another type or merge sees no log files, or each of them as more rows.
#}
{% macro require_setting_of_hudi(caller_name, place, name, value, own) %}
    {%- set option = name | replace("spark.hoodie.", "hoodie.") -%}
    {%- set allowed = {
        "hoodie.index.type": ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"],
        "hoodie.datasource.query.type": ["snapshot"],
        "hoodie.datasource.merge.type": ["payload_combine"],
    } -%}
    {%- if option in allowed -%}
        {%- do alluvium.require_one_of(caller_name, place ~ " " ~ name, value, allowed[option]) -%}
    {%- elif option.startswith("hoodie.") -%}
        {%- do alluvium.require_property_of_hudi(caller_name, option, value, own, true, place) -%}
    {%- endif -%}
{% endmacro %}


{#
    What was built beside a table is of no use then: the next build of the model may be one that replaces nothing. And a session keeps what it knows of a table, also of a write that has
    failed; the next one takes that back, and if it fails, too, the session looks for what is gone: nobody could read the table before a build succeeds (1.0.2,
    FileNotFoundException of a `.replacecommit.requested`; not seen with 1.2.0). The refresh is to go with 1.0.
#}
{% macro clean_up_failed_tables(results) %}
    {%- for result in results if result.status == "error" and result.node.unique_id in graph.nodes -%}
        {%- set node = graph.nodes[result.node.unique_id] -%}
        {%- set table = api.Relation.create(schema=node.schema, identifier=node.alias) -%}
        {%- do run_query("drop table if exists " ~ alluvium.name_of_rebuilt(table)) if node.config.materialized in ["incremental", "table"] -%}
        {%- do run_query("refresh table " ~ table) if node.config.file_format == "hudi" and alluvium.is_in_catalog(table) and alluvium.is_session_of_hudi_1_0() -%}
    {%- endfor -%}
{% endmacro %}


{% macro knows_hudi(extensions=none) %}
    {{ return("HoodieSparkSessionExtension" in (extensions or alluvium.lasting_setting("spark.sql.extensions") or "")) }}
{% endmacro %}


{% macro session_with_hudi() %}
    {{ return("a session with Hudi: set ALLUVIUM_FILE_FORMAT=hudi in the environment of dbt (on EMR with --env), and of `alluvium serve start` where a Thrift server has the session; where other models stay Delta's, add --vars 'file_format: delta' (docs/guide/hudi.md)") }}
{% endmacro %}


{% macro is_session_of_hudi_1_0() %}
    {{ return(alluvium.knows_hudi() and alluvium.table_version_of_hudi() == "EIGHT") }}
{% endmacro %}


{#
    A session that lives on reads the files of a table of Hudi's that it has listed before, whatever another session has written since (1.2.0): a merge would compare the position of
    an event with that of an older row, and a mart would keep rows of before beside the newest commit's name. Delta asks its log.
#}
{% macro refresh_hudi_tables(relation, node) %}
    {%- set tables = [relation] if relation and (load_relation(relation) or {}).is_hudi else [] -%}
    {%- for table in tables + alluvium.hudi_tables_behind(node) -%}
        {%- do run_query("refresh table " ~ table) -%}
    {%- endfor -%}
{% endmacro %}


{# That the catalog has, through views and ephemeral models, too. #}
{% macro hudi_tables_behind(node) %}
    {%- set tables = [] -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- set parent = graph.nodes[id] -%}
        {%- set table = load_relation(api.Relation.create(schema=parent.schema, identifier=parent.alias)) -%}
        {%- if table and table.is_hudi -%}
            {%- do tables.append(table) -%}
        {%- elif not table or table.is_view -%}
            {%- do tables.extend(alluvium.hudi_tables_behind(parent)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables | unique | list) }}
{% endmacro %}
