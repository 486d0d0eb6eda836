{#
    A session without its extension knows no table of Hudi's; a root project that does not pass on who creates and drops
    tables would have them made by dbt-spark, without a key.
#}
{% macro _require_hudi(caller_name) %}
    {#- dbt (1.11) takes a literal alone for the name that is dispatched. -#}
    {%- set asked = {
        "spark__create_table_as": adapter.dispatch("create_table_as", "dbt"),
        "spark__drop_relation": adapter.dispatch("drop_relation", "dbt"),
        "spark__alter_relation_add_remove_columns": adapter.dispatch("alter_relation_add_remove_columns", "dbt"),
    } -%}
    {%- for own, found in asked.items() -%}
        {%- do alluvium._require_passed_on(caller_name, "a table of Hudi's", own, found.macro) -%}
    {%- endfor -%}
    {%- if alluvium._own_config().get("location_root") -%}
        {% do alluvium._raise_invalid(
            caller_name, "location_root", alluvium._own_config().get("location_root"),
            "none, where file_format is hudi: a rename of a table would leave its files there"
        ) %}
    {%- endif -%}
    {#-
        A table that was renamed keeps its first name in its schema, and Hudi (1.2.0) takes that for another schema
        where a column gets a comment.
    -#}
    {%- if (alluvium._own_config().get("persist_docs") or {}).columns -%}
        {% do alluvium._raise_invalid(
            caller_name, "persist_docs.columns", true,
            "false, where file_format is hudi: Hudi would refuse the comment after each build (Failed schema "
            "compatibility check)"
        ) %}
    {%- endif -%}
    {%- do alluvium._require_session_of_hudi(caller_name) if alluvium._is_run() -%}
{% endmacro %}


{% macro _require_session_of_hudi(caller_name) %}
    {%- set settings = {} -%}
    {%- for row in alluvium._query_rows("set") -%}
        {%- do settings.update({row.key: row.value}) -%}
    {%- endfor -%}
    {%- if not alluvium._knows_hudi(settings.get("spark.sql.extensions")) -%}
        {% do
            alluvium._raise_invalid(caller_name, "file_format", "hudi", "delta, or " ~ alluvium._session_with_hudi()) %}
    {%- endif -%}
    {#- Older ones take options that these tables rest on without a word. -#}
    {%- set version = alluvium._require_one_of(
        caller_name, "version of Hudi's tables (SIX by 0.15, EIGHT by 1.0, NINE by 1.2)",
        alluvium._table_version_of_hudi(), ["EIGHT", "NINE"]
    ) -%}
    {%- set own = dict(alluvium._fixed_properties_of_hudi(true), **alluvium._properties_of_hudi_1_0(version)) -%}
    {%- for name, value in settings.items() -%}
        {%- do alluvium._require_setting_of_hudi(caller_name, "setting of the session", name, value, own) -%}
    {%- endfor -%}
    {%- for name, value in alluvium._defaults_of_hudi().items() -%}
        {%- do alluvium._require_setting_of_hudi(caller_name, "hudi-defaults.conf", name, value, own) -%}
    {%- endfor -%}
{% endmacro %}


{# What a file of the machine says (`/etc/hudi/conf` or HUDI_CONF_DIR). #}
{% macro _defaults_of_hudi() %}
    {%- set call = "java_method('org.apache.hudi.common.config.DFSPropertiesConfiguration', 'getGlobalProps')" -%}
    {%- set defaults = {} -%}
    {%- for row in alluvium._query_rows("select " ~ call ~ " as defaults") -%}
        {%- for name, value in modules.re.findall("([\\w.]+)=([^,}]*)", row.defaults) -%}
            {%- do defaults.update({name: value}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(defaults) }}
{% endmacro %}


{#
    Either comes before a table's own properties, for whoever writes and whoever reads (1.2.0): after
    `set hoodie.index.type = SIMPLE` of one client of a server, rows that move would be in every table twice, and a
    query of another type or merge sees no log files, or each of them as more rows.
#}
{% macro _require_setting_of_hudi(caller_name, place, name, value, own) %}
    {%- set option = name | replace("spark.hoodie.", "hoodie.") -%}
    {%- set allowed = {
        "hoodie.index.type": ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"],
        "hoodie.datasource.query.type": ["snapshot"],
        "hoodie.datasource.merge.type": ["payload_combine"],
    } -%}
    {%- if option in allowed -%}
        {%- do alluvium._require_one_of(caller_name, place ~ " " ~ name, value, allowed[option]) -%}
    {%- elif option.startswith("hoodie.") -%}
        {%- do alluvium._require_property_of_hudi(caller_name, option, value, own, true, place) -%}
    {%- endif -%}
{% endmacro %}


{% macro _knows_hudi(extensions=none) %}
    {{ return(
        "HoodieSparkSessionExtension" in (extensions or alluvium._lasting_setting("spark.sql.extensions") or "")
    ) }}
{% endmacro %}


{% macro _session_with_hudi() %}
    {{ return(
        "a session with Hudi: set ALLUVIUM_FILE_FORMAT=hudi in the environment of dbt (on EMR with --env), and of "
        "`alluvium serve start` where a Thrift server has the session; where other models stay Delta's, add --vars "
        "'file_format: delta' (docs/guide/hudi.md)"
    ) }}
{% endmacro %}


{% macro _is_session_of_hudi_1_0() %}
    {{ return(alluvium._knows_hudi() and alluvium._table_version_of_hudi() == "EIGHT") }}
{% endmacro %}


{#
    A session that lives on reads the files of a table of Hudi's that it has listed before, whatever another session has
    written since (1.2.0): a merge would compare the position of an event with that of an older row, and a mart would
    keep rows of before beside the newest commit's name. Delta asks its log.
#}
{% macro _refresh_hudi_tables(relation, node) %}
    {%- set tables = [relation] if relation and (load_relation(relation) or {}).is_hudi else [] -%}
    {%- for table in tables + alluvium._hudi_tables_behind(node) -%}
        {%- do run_query("refresh table " ~ table) -%}
    {%- endfor -%}
{% endmacro %}


{# That the catalog has, through views and ephemeral models, too. #}
{% macro _hudi_tables_behind(node) %}
    {%- set tables = [] -%}
    {%- for id in node.depends_on.nodes if id in graph.nodes -%}
        {%- set parent = graph.nodes[id] -%}
        {%- set table = load_relation(alluvium._relation_of_node(parent)) -%}
        {%- if table and table.is_hudi -%}
            {%- do tables.append(table) -%}
        {%- elif not table or table.is_view -%}
            {%- do tables.extend(alluvium._hudi_tables_behind(parent)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables | unique | list) }}
{% endmacro %}
