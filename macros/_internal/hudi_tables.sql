{#
    Tables of Hudi's: states, histories and marts whose `file_format` is `hudi`. Their rows are those of Delta's; how they are keyed, created and replaced is here.
#}
{% macro is_hudi() %}
    {{ return(config.get("file_format") == "hudi") }}
{% endmacro %}


{#
    Rows with the one column that is Hudi's record key. Not the columns of the key: Hudi makes a text of them that is the same for other
    values (`a:1,b:2`; every BINARY of one length; NULL and `__null__`), and two rows would be one.
#}
{% macro keyed_rows(sql, feed, key) -%}
{%- if not alluvium.is_hudi() -%}
    {{ return(sql) }}
{%- endif -%}
{%- do alluvium.require_columns_of_hudi("model " ~ model.name, feed.columns, feed.key) -%}
{%- do alluvium.require_hudi("model " ~ model.name) -%}
{%- set parts = [] -%}
{%- for name in key -%}
    {%- set data_type = alluvium.column_of(feed, name).data_type if name in feed.key else "string" -%}
    {%- do parts.append(alluvium.text_of_key(alluvium.quoted_identifier(name), data_type)) -%}
{%- endfor -%}
select
    *,
    to_json(array({{ parts | join(", ") }})) as _cdc_record_key
from (
    {{ sql | indent(4) }}
) as keyed
{%- endmacro %}


{# -0.0 and 0.0 are one key to Spark, and the text of a time is another one in each time zone. #}
{% macro text_of_key(column, data_type) %}
    {%- if data_type == "binary" -%}
        {{ return("hex(" ~ column ~ ")") }}
    {%- elif data_type in ["float", "double"] -%}
        {{ return("cast(" ~ column ~ " + 0 as string)") }}
    {%- elif data_type == "timestamp" -%}
        {{ return("cast(unix_micros(" ~ column ~ ") as string)") }}
    {%- endif -%}
    {{ return(column if data_type == "string" else "cast(" ~ column ~ " as string)") }}
{% endmacro %}


{% macro removed_op() %}
    {{ return("removed") }}
{% endmacro %}


{#
    What Hudi is told about a table; a model's `tblproperties` come after it. The indexes are global, without which
    a row whose partition changes would stay in the old one, too (1.2.0). Spark's catalog has the table; Hudi's own tool would register it once more for
    Hive, of Merge on Read under two other names, and stops where two threads write (a NullPointerException in DataNucleus; 1.2.0). Either of its two options
    turns it on, and Spark turns on both.
#}
{% macro hudi_properties(is_merged) %}
    {%- set table_type = alluvium.require_one_of("model " ~ model.name, "var hudi_table_type", var("hudi_table_type", "cow"), ["cow", "mor"]) -%}
    {%- set properties = dict({"type": table_type}, **alluvium.fixed_properties_of_hudi(is_merged)) -%}
    {%- for name, value in (config.get("tblproperties") or {}).items() if not name.startswith("delta.") -%}
        {%- do alluvium.require_property_of_hudi("model " ~ model.name, name, value, properties, is_merged) -%}
        {%- do properties.update({name: value}) -%}
    {%- endfor -%}
    {#- Not by default for Spark's writers (1.2.0): log files would add up with every run. -#}
    {%- do properties.update({"hoodie.compact.inline": "true"}) if properties.type == "mor" and "hoodie.compact.inline" not in properties -%}
    {%- set older = alluvium.properties_of_hudi_1_0(alluvium.table_version_of_hudi()) -%}
    {#-
        Its readers leave a stream open, and with it a connection: four a merge, one without it (1.2.0, S3A of Hadoop 3.3.4). Its statistics stop a merge of a NULL (1.0.2, Merge on Read:
        a NullPointerException in HoodieTableMetadataUtil.collectColumnRangeMetadata).
    -#}
    {%- do properties.update({"hoodie.metadata.enable": "false"}) if "hoodie.metadata.enable" not in properties and (older or alluvium.is_on_object_storage()) -%}
    {%- do properties.update(older) if is_merged -%}
    {{ return(properties) }}
{% endmacro %}


{# Those that a model may not set otherwise, but for the index and Hudi's registration. #}
{% macro fixed_properties_of_hudi(is_merged) %}
    {%- set properties = {
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
        "hoodie.datasource.overwrite.mode": "STATIC",
        "hoodie.datasource.hive_sync.enable": "false",
        "hoodie.datasource.meta.sync.enable": "false",
    } -%}
    {%- do properties.update({
        "primaryKey": "_cdc_record_key",
        "hoodie.spark.sql.insert.into.operation": "upsert",
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "true",
        "hoodie.bloom.index.update.partition.path": "true",
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.payload.delete.field": "_cdc_op",
        "hoodie.payload.delete.marker": alluvium.removed_op(),
    }) if is_merged -%}
    {{ return(properties) }}
{% endmacro %}


{#
    What Hudi 1.0 (EMR's) is told besides, nothing where the session has another one: with the ordering of commits alone it keeps rows that are to go, without a word. The payload asks for them, and takes the row that was written last
    where no field orders them (measured with 1.0.2 on both table types). To go with the last release of EMR that has 1.0.
#}
{% macro properties_of_hudi_1_0(table_version) %}
    {{ return({
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING", "payloadClass": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    } if table_version == "EIGHT" else {}) }}
{% endmacro %}


{# That of the tables which the session's Hudi makes: SIX of 0.15, EIGHT of 1.0, NINE of 1.1 and 1.2. #}
{% macro table_version_of_hudi() %}
    {%- set call = "java_method('org.apache.hudi.common.table.HoodieTableVersion', 'current')" -%}
    {{ return(alluvium.query_rows("select " ~ call ~ " as version")[0].version) }}
{% endmacro %}


{#
    With another key, order of writes or index a table would lose rows or have them twice, without an error: of a row that moves to another partition one stays in
    the old one (BLOOM, SIMPLE, BUCKET), or its new values are written into it, where a filter on the partition does not find them (the record index; 1.2.0).
#}
{% macro require_property_of_hudi(caller_name, name, value, own, is_merged, place="tblproperties") %}
    {%- set value = value | string -%}
    {%- set said = place ~ " " ~ name -%}
    {%- if name == "type" -%}
        {%- do alluvium.require_one_of(caller_name, said, value, ["cow", "mor"]) -%}
    {%- elif name == "hoodie.index.type" and is_merged -%}
        {%- do alluvium.require_one_of(
            caller_name, said, value, ["GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"],
        ) -%}
    {%- elif name in own and ".sync." not in name and "_sync." not in name -%}
        {%- do alluvium.require_one_of(caller_name, said, value | lower, [own[name] | lower]) -%}
    {%- elif is_merged and name in [
        "preCombineField", "orderingFields", "payloadClass", "hoodie.index.class", "hoodie.populate.meta.fields", "hoodie.datasource.write.operation",
        "hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.precombine.field", "hoodie.datasource.write.partitionpath.field",
        "hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.payload.class", "hoodie.datasource.write.drop.partition.columns",
    ] -%}
        {% do alluvium.raise_invalid(caller_name, said, value, "none: how rows are keyed and written is this project's") %}
    {%- endif -%}
{% endmacro %}


{# Hudi keeps a table's schema in Avro, and creates no table with a time of no zone in a Hive metastore (1.2.0). #}
{% macro require_columns_of_hudi(subject, columns, key=[]) %}
    {%- for column in columns -%}
        {%- if not modules.re.fullmatch("[^\\W\\d]\\w*", column.name) -%}
            {% do alluvium.raise_invalid(
                subject, "name of a column", column.name, "a name of letters, digits and underscores that does not begin with a digit, where file_format is hudi",
            ) %}
        {%- elif (column.name | lower).startswith("_hoodie_") -%}
            {#- A row with `_hoodie_is_deleted` is deleted, without a word (1.2.0). -#}
            {% do alluvium.raise_invalid(subject, "name of a column", column.name, "a name that does not begin with `_hoodie_`, which are Hudi's own") %}
        {%- elif "timestamp_ntz" in column.data_type and (column.data_type != "timestamp_ntz" or column.name in key) -%}
            {% do alluvium.raise_invalid(
                subject, "type of column " ~ column.name, column.data_type,
                "timestamp or string in place of timestamp_ntz in a key or inside of another type, where file_format is hudi",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{#
    The type that a table has for one of its model: Hudi keeps the two small integers as INT, and a time without a zone is the time in UTC that has
    the same digits.
#}
{% macro stored_type(data_type) %}
    {%- if not alluvium.is_hudi() -%}
        {{ return(data_type) }}
    {%- endif -%}
    {{ return("timestamp" if data_type == "timestamp_ntz" else modules.re.sub("\\b(tinyint|smallint)\\b", "int", data_type)) }}
{% endmacro %}


{# A time not with a cast, which asks for the session's time zone. #}
{% macro stored_value(value, data_type) %}
    {%- set stored_type = alluvium.stored_type(data_type) -%}
    {%- if stored_type == data_type -%}
        {{ return(value) }}
    {%- elif data_type == "timestamp_ntz" -%}
        {{ return("timestamp_micros(" ~ alluvium.whole_number({"data_type": data_type}, value) ~ ")") }}
    {%- endif -%}
    {{ return("cast(" ~ value ~ " as " ~ stored_type ~ ")") }}
{% endmacro %}


{# The column of a state as its feed declares it. #}
{% macro declared_value(column, table) %}
    {%- set name = alluvium.quoted_identifier(column.name) -%}
    {%- if not modules.re.search("\\b(tinyint|smallint|timestamp_ntz)\\b", column.data_type) or alluvium.format_of_table(table) != "hudi" -%}
        {{ return(name) }}
    {%- elif column.data_type == "timestamp_ntz" -%}
        {{ return("timestamp_ntz '1970-01-01 00:00:00' + interval '0.000001' second * unix_micros(" ~ name ~ ") as " ~ name) }}
    {%- endif -%}
    {{ return("cast(" ~ name ~ " as " ~ column.data_type ~ ") as " ~ name) }}
{% endmacro %}


{% macro format_of_table(table) %}
    {%- for node in graph.nodes.values() if node.resource_type == "model" and node.schema == table.schema and node.alias == table.identifier -%}
        {{ return(node.config.file_format) }}
    {%- endfor -%}
    {{ return("delta") }}
{% endmacro %}


{#
    dbt-spark asks for the SQL that makes a table. It drops what is there before (1.11); of Hudi's tables the old one stays until the new one is complete, and a
    table that is there is complete whatever was killed.
#}
{% macro spark__create_table_as(temporary, relation, compiled_code, language="sql") %}
    {%- do alluvium.refuse_own_filter("create_table_as") if alluvium.is_hudi_mart() and config.get("incremental_strategy") == "merge" -%}
    {%- do alluvium.refuse_hidden_columns(compiled_code) if alluvium.is_own_table() -%}
    {#- The view of a temporary table is the session's: what another build is about to write would be replaced. -#}
    {%- do alluvium.require_claimed_session("create_table_as") if alluvium.is_own_table() -%}
    {%- do alluvium.require_name_of_its_own("create_table_as") if temporary or alluvium.is_own_table() -%}
    {%- if language == "sql" and alluvium.partition_names() and modules.re.search("record_(applied|inputs|cut)", alluvium.post_hooks_of(model)) and not alluvium.is_kept_by_key() -%}
        {%- set compiled_code = alluvium.partitioned_rows("model " ~ model.name, compiled_code) -%}
    {%- endif -%}
    {%- if temporary and alluvium.is_hudi_mart() -%}
        {#- dbt refuses a mart whose table has other types than its model. -#}
        {%- set rows = alluvium.view_of_rows(relation, compiled_code) -%}
        {%- set compiled_code = "select " ~ alluvium.stored_columns(adapter.get_columns_in_relation(rows)) | join(", ") ~ " from " ~ rows -%}
    {%- endif -%}
    {%- if not temporary and not alluvium.is_hudi() and alluvium.remembered("is_replaced", relation) == "true" -%}
        {%- set rebuilt = alluvium.name_of_rebuilt(relation) -%}
        {%- do alluvium.drop_tables_beside(relation, "rebuilt") -%}
        {%- do run_query(dbt.spark__create_table_as(false, rebuilt, compiled_code, language)) -%}
        {{ return(alluvium.take_name(relation, rebuilt)) }}
    {%- elif temporary or not alluvium.is_own_hudi_table() -%}
        {{ return(dbt.spark__create_table_as(temporary, relation, compiled_code, language)) }}
    {%- endif -%}
    {%- if (config.get("contract") or {}).enforced -%}
        {%- do get_assert_columns_equivalent(compiled_code) -%}
        {%- set compiled_code = get_select_subquery(compiled_code) -%}
    {%- endif -%}
    {{ return(alluvium.replace_hudi_table(relation, compiled_code, {})) }}
{% endmacro %}


{#
    dbt-spark (1.11) names the view of the rows that an incremental model is about to write after the model's table, without its schema: threads of one
    session would replace each other's.
#}
{% macro require_name_of_its_own(caller_name) %}
    {%- for node in graph.nodes.values() if node.resource_type == "model" and node.alias | lower == this.identifier | lower -%}
        {%- if node.schema != this.schema and node.config.materialized == "incremental" -%}
            {% do alluvium.raise_invalid(
                caller_name ~ ": model " ~ model.name, "name of its table", this.identifier,
                "one that no incremental model has in another schema, as " ~ node.name ~ " has in " ~ node.schema ~ ": dbt would take the rows of the one for the other's",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Not a model of another kind in a project that has this one as a package. #}
{% macro is_own_hudi_table() %}
    {{ return(alluvium.is_hudi() and alluvium.is_own_table()) }}
{% endmacro %}


{% macro is_own_table() %}
    {{ return(
        config.get("materialized") == "incremental"
        and modules.re.search("record_applied_batches|record_inputs", post_hooks | map(attribute="sql") | join(" ")) is not none
    ) }}
{% endmacro %}


{% macro is_hudi_mart() %}
    {{ return(alluvium.is_own_hudi_table() and not alluvium.is_kept_by_key()) }}
{% endmacro %}


{# A state or a history, whose SQL is this project's. #}
{% macro is_kept_by_key() %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {{ return((cdc.merge_guard or cdc.stored_as_scd_type or "") != "") }}
{% endmacro %}


{% macro view_of_rows(relation, compiled_code) %}
    {%- set rows = api.Relation.create(identifier=relation.identifier ~ "__rows") -%}
    {%- do run_query("create or replace temporary view " ~ rows ~ " as\n" ~ compiled_code) -%}
    {{ return(rows) }}
{% endmacro %}


{#
    A table that is there and would be made the same is overwritten, in one commit of Hudi's: what fails or is killed leaves its rows, and nothing is moved. What it had
    applied is forgotten afterwards, and a run that did not come to that is followed by another rebuild. Any other table is replaced.
#}
{% macro replace_hudi_table(relation, compiled_code, properties) %}
    {%- set rows = alluvium.view_of_rows(relation, compiled_code) -%}
    {%- set columns = adapter.get_columns_in_relation(rows) -%}
    {%- do alluvium.require_columns_of_hudi("model " ~ relation.identifier, columns) -%}
    {%- do alluvium.require_partitions("model " ~ relation.identifier, columns) -%}
    {%- do alluvium.drop_tables_beside(relation, "rebuilt") -%}
    {%- if not properties and alluvium.is_made_as(relation, columns) -%}
        {%- set newest = alluvium.require_clock_of_hudi("create_table_as", relation) -%}
        {%- do alluvium.drop_tables_beside(relation, "replaced") -%}
        {%- do run_query(alluvium.set_properties_sql(relation, {"rebuild_begun": alluvium.run_id(), "rebuilt_after": newest.commit_time if newest else "0"})) -%}
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


{% macro write_whole_sql(rows, table, columns) %}
    {{ return(alluvium.insert_into_sql(rows, table, columns | map(attribute="name") | list, "overwrite", alluvium.stored_columns(columns))) }}
{% endmacro %}


{# Of this run: a kill between the folder of a table and its entry in the catalog leaves a folder, and Spark creates no table over one that has files (3.5). #}
{% macro name_of_rebuilt(relation) %}
    {{ return(alluvium.beside_table(relation, "rebuilt_" ~ alluvium.run_id())) }}
{% endmacro %}


{# The table that was built beside it takes the name. The statement that is left over takes away the old one. #}
{% macro take_name(relation, rebuilt) %}
    {#- Those of a killed run: until here they may be all that there is of the old rows. -#}
    {%- do alluvium.drop_tables_beside(relation, "replaced") -%}
    {%- set replaced = alluvium.beside_table(relation, "replaced_" ~ alluvium.run_id()) -%}
    {%- do run_query("alter table " ~ relation ~ " rename to " ~ replaced) if alluvium.is_in_catalog(relation) -%}
    {%- do run_query("alter table " ~ rebuilt ~ " rename to " ~ relation) -%}
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
    {{ return(modules.re.match("(?!file:|hdfs:)\\w+://", location or "") is not none) }}
{% endmacro %}


{# Of the properties that a table of Hudi's was created with, and its partitions. Hudi keeps most of them as they are, whatever the model says later. #}
{% macro fingerprint_of_making(properties) %}
    {{ return(local_md5(tojson([properties, config.get("partition_by")], sort_keys=true))) }}
{% endmacro %}


{% macro is_made_as(relation, columns) %}
    {%- set stored, wanted = {}, {} -%}
    {%- if alluvium.is_in_catalog(relation)
        and alluvium.table_property(relation, "made_as") == alluvium.fingerprint_of_making(alluvium.hudi_properties("_cdc_record_key" in columns | map(attribute="name"))) -%}
        {%- for column in adapter.get_columns_in_relation(relation) -%}
            {%- do stored.update({column.name: column.dtype}) -%}
        {%- endfor -%}
        {%- for column in columns -%}
            {%- do wanted.update({column.name: alluvium.stored_type(column.dtype)}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(stored == wanted and stored != {}) }}
{% endmacro %}


{% macro forget_properties_sql(relation) %}
    {%- set names = [alluvium.string_literal("alluvium.rebuild_begun")] -%}
    {%- for name in alluvium.table_properties(relation) if name not in ["made_as", "rebuilt_after"] -%}
        {%- do names.append(alluvium.string_literal("alluvium." ~ alluvium.shown_text(name))) -%}
    {%- endfor -%}
    {{ return("alter table " ~ relation ~ " unset tblproperties if exists (" ~ names | unique | join(", ") ~ ")") }}
{% endmacro %}


{% macro drop_tables_beside(relation, name) %}
    {%- set names = alluvium.beside_table(relation, name).identifier ~ "_*" -%}
    {%- for table in alluvium.query_rows("show tables in " ~ relation.schema ~ " like '" ~ names ~ "'") -%}
        {%- do run_query("drop table if exists " ~ api.Relation.create(schema=relation.schema, identifier=table.tableName)) -%}
    {%- endfor -%}
{% endmacro %}


{#
    A session without its extension knows no table of Hudi's; a root project that does not pass on who creates and drops tables would have them made by
    dbt-spark, without a key.
#}
{% macro require_hudi(caller_name) %}
    {%- do alluvium.require_passed_on(caller_name, "a table of Hudi's", "spark__create_table_as", adapter.dispatch("create_table_as", "dbt").macro) -%}
    {%- do alluvium.require_passed_on(caller_name, "a table of Hudi's", "spark__drop_relation", adapter.dispatch("drop_relation", "dbt").macro) -%}
    {%- if config.get("location_root") -%}
        {% do alluvium.raise_invalid(caller_name, "location_root", config.get("location_root"), "none, where file_format is hudi: a rename of a table would leave its files there") %}
    {%- endif -%}
    {%- do alluvium.require_session_of_hudi(caller_name) if alluvium.is_run() -%}
{% endmacro %}


{% macro require_session_of_hudi(caller_name) %}
    {%- set settings = {} -%}
    {%- for row in alluvium.query_rows("set") -%}
        {%- do settings.update({row.key: row.value}) -%}
    {%- endfor -%}
    {%- if "HoodieSparkSessionExtension" not in settings.get("spark.sql.extensions", "") -%}
        {% do alluvium.raise_invalid(
            caller_name, "file_format", "hudi", "delta, or a session with Hudi: set ALLUVIUM_FILE_FORMAT=hudi in the environment of dbt, and of `alluvium serve start` where a Thrift server has the session (docs/guide/hudi.md)",
        ) %}
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


{# Columns of the model in the types of its table. #}
{% macro stored_columns(columns) %}
    {%- set stored = [] -%}
    {%- for column in columns -%}
        {%- set name = alluvium.quoted_identifier(column.name) -%}
        {%- set value = alluvium.stored_value(name, column.dtype) -%}
        {%- do stored.append(value if value == name else value ~ " as " ~ name) -%}
    {%- endfor -%}
    {{ return(stored) }}
{% endmacro %}


{% macro create_hudi_table_sql(relation, columns, properties) -%}
{%- set all_properties = alluvium.hudi_properties("_cdc_record_key" in columns | map(attribute="name")) -%}
{%- set made_as = alluvium.fingerprint_of_making(all_properties) -%}
{%- do all_properties.update(properties) -%}
{%- do all_properties.update({"alluvium.made_as": made_as}) -%}
create table {{ relation }} (
    {%- for column in columns %}
    {{ alluvium.quoted_identifier(column.name) }} {{ alluvium.stored_type(column.dtype) }}{{ "," if not loop.last }}
    {%- endfor %}
)
using hudi
{{ partition_cols(label="partitioned by") }}
tblproperties (
    {%- for name, value in all_properties.items() %}
    {{ alluvium.string_literal(name) }} = {{ alluvium.string_literal(value) }}{{ "," if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{# dbt-spark drops a table that is to be built anew, unless it is Delta's and stays so. #}
{% macro spark__drop_relation(relation) -%}
    {%- if alluvium.remembered("is_replaced", relation) == "true" -%}
        {{ return("") }}
    {%- endif -%}
    {{ return(dbt.spark__drop_relation(relation)) }}
{%- endmacro %}


{# A statement in the one format does not fit a table of the other. #}
{% macro require_format_of_table(caller_name) %}
    {%- set table = load_relation(this) -%}
    {%- if table and table.is_hudi is not none and table.is_hudi != alluvium.is_hudi() -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": model " ~ model.name, "file_format", config.get("file_format"),
            ("hudi" if table.is_hudi else "delta") ~ ", as the table has it; another one needs " ~ alluvium.rebuild_command(this),
        ) %}
    {%- endif -%}
    {%- do alluvium.require_payload_of_hudi_1_0("model " ~ model.name, this) if table and alluvium.is_hudi() and alluvium.is_kept_by_key() -%}
{% endmacro %}


{# A table that was made without it keeps rows that are to go. #}
{% macro require_payload_of_hudi_1_0(caller_name, table) %}
    {%- set wanted = alluvium.properties_of_hudi_1_0(alluvium.table_version_of_hudi()).payloadClass -%}
    {%- do alluvium.require_property_of_table(caller_name, table, "payloadClass", wanted) if wanted -%}
{% endmacro %}


{# A property that a table was made with, and that no later statement gives it. #}
{% macro require_property_of_table(caller_name, table, name, wanted) %}
    {%- set found = alluvium.query_rows("show tblproperties " ~ table) | selectattr("key", "equalto", name) | map(attribute="value") | first -%}
    {%- if found != wanted -%}
        {% do alluvium.raise_invalid(
            caller_name, "property " ~ name ~ " of " ~ table, found or none, wanted ~ ", as tables that are made now have it: " ~ alluvium.rebuild_command(table)
        ) %}
    {%- endif -%}
{% endmacro %}


{# Hudi names a commit by the time on the clock of the JVM's time zone. #}
{% macro instant_of_hudi(later="") %}
    {{ return("date_format(cast(java_method('java.time.LocalDateTime', 'now') as timestamp_ntz)" ~ (" " ~ later if later else "") ~ ", 'yyyyMMddHHmmssSSS')") }}
{% endmacro %}


{#
    Hudi (1.2.0) orders commits by their times, in the JVM's time zone, and shows nothing of one whose time is before those that are there: its rows would be lost without
    an error. The JVM's zone is UTC (alluvium/session.py), but a clock may be set back, another machine's may be behind, and a session may be somebody else's.
#}
{% macro require_clock_of_hudi(caller_name, table) %}
    {%- set newest = alluvium.newest_commit_of_hudi(table) -%}
    {%- set now = alluvium.query_rows("select " ~ alluvium.instant_of_hudi() ~ " as now")[0].now if newest else none -%}
    {%- if newest and now <= newest.state_transition_time -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": table " ~ table, "the clock (year to millisecond, time zone of the JVM)", now,
            "a time after " ~ newest.state_transition_time ~ ", that of the newest commit: Hudi would lose the rows of an earlier one. "
            ~ "Set the clock or the time zone right, or wait until then"
        ) %}
    {%- endif -%}
    {{ return(newest) }}
{% endmacro %}


{#
    Delta takes a table's properties back with its rows; Hudi's `rollback_to_instant` and its restores leave them as they are (1.2.0), so that what was taken back would count as
    applied.
#}
{% macro commit_properties_of_hudi(table) %}
    {%- set newest = alluvium.newest_commit_of_hudi(table) -%}
    {{ return({"written_until": newest.commit_time} if newest else {}) }}
{% endmacro %}


{% macro is_taken_back(table, properties) %}
    {%- if "written_until" not in properties -%}
        {{ return(false) }}
    {%- endif -%}
    {#- Commits that are archived are older than those that are shown; what compaction or a purge has written since is newer. -#}
    {%- set shown = alluvium.query_rows("call show_commits(table => '" ~ table ~ "', limit => 1000)") | map(attribute="commit_time") | list -%}
    {{ return(properties.written_until not in shown and (not shown or shown | min < properties.written_until)) }}
{% endmacro %}


{# None of a table that was only created. #}
{% macro newest_commit_of_hudi(table) %}
    {%- set commits = alluvium.query_rows("call show_commits(table => '" ~ table ~ "', limit => 1)") -%}
    {{ return(commits[0] if commits else none) }}
{% endmacro %}


{# Of a change log, whatever the folder says: its newest batch is asked for before every run, which Delta answers without reading rows. #}
{% macro keep_in_delta() %}
    {%- do config(file_format="delta") -%}
{% endmacro %}
