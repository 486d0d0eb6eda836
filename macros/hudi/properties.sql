{% macro _removed_op() %}
    {{ return("removed") }}
{% endmacro %}


{#
    What Hudi is told about a table; a model's `tblproperties` come after it. The indexes are global, without which a
    row whose partition changes would stay in the old one, too (1.2.0). Spark's catalog has the table; Hudi's own tool
    would register it once more for Hive, of Merge on Read under two other names, and stops where two threads write (a
    NullPointerException in DataNucleus; 1.2.0). Either of its two options turns it on, and Spark turns on both.
#}
{% macro _hudi_properties(is_merged) %}
    {%- set table_type = alluvium._require_one_of(
        "model " ~ model.name, "var hudi_table_type", var("hudi_table_type", "cow"), ["cow", "mor"]
    ) -%}
    {%- set properties = dict({"type": table_type}, **alluvium._fixed_properties_of_hudi(is_merged)) -%}
    {%- for name, value in (config.get("tblproperties") or {}).items() if not name.startswith("delta.") -%}
        {%- do alluvium._require_property_of_hudi("model " ~ model.name, name, value, properties, is_merged) -%}
        {%- do properties.update({name: value}) -%}
    {%- endfor -%}
    {#- Not by default for Spark's writers (1.2.0): log files would add up with every run. -#}
    {%- do properties.update({"hoodie.compact.inline": "true"})
        if properties.type == "mor" and "hoodie.compact.inline" not in properties -%}
    {%- set older = alluvium._properties_of_hudi_1_0(alluvium._table_version_of_hudi()) -%}
    {#-
        Its readers leave a stream open, and with it a connection: four a merge, one without it (1.2.0, S3A of Hadoop
        3.3.4). Its statistics stop a merge of a NULL (1.0.2, Merge on Read: a NullPointerException in
        HoodieTableMetadataUtil.collectColumnRangeMetadata).
    -#}
    {%- do properties.update({"hoodie.metadata.enable": "false"})
        if "hoodie.metadata.enable" not in properties and (older or alluvium._is_on_object_storage()) -%}
    {%- do properties.update(older) if is_merged -%}
    {{ return(properties) }}
{% endmacro %}


{#
    Those that a model may not set otherwise, but for the index and Hudi's registration. In its statistics of columns a
    NaN is less than any number, and to Spark it is more: a filter on a float or a double passes over files that have
    rows for it, without a word (1.2.0).
#}
{% macro _fixed_properties_of_hudi(is_merged) %}
    {%- set properties = {
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
        "hoodie.datasource.overwrite.mode": "STATIC",
        "hoodie.datasource.hive_sync.enable": "false",
        "hoodie.datasource.meta.sync.enable": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
    } -%}
    {%- do properties.update({
        "primaryKey": "_cdc_record_key",
        "hoodie.spark.sql.insert.into.operation": "upsert",
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "true",
        "hoodie.bloom.index.update.partition.path": "true",
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.payload.delete.field": "_cdc_op",
        "hoodie.payload.delete.marker": alluvium._removed_op(),
    }) if is_merged -%}
    {{ return(properties) }}
{% endmacro %}


{#
    What Hudi 1.0 (EMR's) is told besides, nothing where the session has another one: with the ordering of commits alone
    it keeps rows that are to go, without a word. The payload asks for them, and takes the row that was written last
    where no field orders them (measured with 1.0.2 on both table types). To go with the last release of EMR that has
    1.0.
#}
{% macro _properties_of_hudi_1_0(table_version) %}
    {{ return({
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "payloadClass": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    } if table_version == "EIGHT" else {}) }}
{% endmacro %}


{# That of the tables which the session's Hudi makes: SIX of 0.15, EIGHT of 1.0, NINE of 1.1 and 1.2. #}
{% macro _table_version_of_hudi() %}
    {%- set call = "java_method('org.apache.hudi.common.table.HoodieTableVersion', 'current')" -%}
    {{ return(alluvium._query_rows("select " ~ call ~ " as version")[0].version) }}
{% endmacro %}


{#
    With another key, order of writes or index a table would lose rows or have them twice, without an error: of a row
    that moves to another partition one stays in the old one (BLOOM, SIMPLE, BUCKET), or its new values are written into
    it, where a filter on the partition does not find them (the record index; 1.2.0).
#}
{% macro _require_property_of_hudi(caller_name, name, value, own, is_merged, place="tblproperties") %}
    {%- set value = value | string -%}
    {%- set said = place ~ " " ~ name -%}
    {%- if name == "type" -%}
        {%- do alluvium._require_one_of(caller_name, said, value, ["cow", "mor"]) -%}
    {%- elif name == "hoodie.index.type" and is_merged -%}
        {%- do alluvium._require_one_of(
            caller_name, said, value, ["GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"],
        ) -%}
    {%- elif name in own and ".sync." not in name and "_sync." not in name -%}
        {%- do alluvium._require_one_of(caller_name, said, value | lower, [own[name] | lower]) -%}
    {%- elif is_merged and name in [
        "preCombineField", "orderingFields", "payloadClass", "hoodie.index.class", "hoodie.populate.meta.fields",
        "hoodie.datasource.write.operation",
        "hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.precombine.field",
        "hoodie.datasource.write.partitionpath.field",
        "hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.payload.class",
        "hoodie.datasource.write.drop.partition.columns",
    ] -%}
        {% do alluvium._raise_invalid(
            caller_name, said, value, "none: how rows are keyed and written is this project's"
        ) %}
    {%- endif -%}
{% endmacro %}
