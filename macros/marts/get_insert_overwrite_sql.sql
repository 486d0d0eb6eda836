{#
    A mart with the strategy `insert_overwrite` is computed whole, and only when its own SQL or a table behind it has
    changed since. What it was computed from is kept as a property of the mart itself, so it goes with the mart when
    that is dropped, replaced or restored. A mart that calls current_date() or the like wants `materialized="table"`.
    The pre-hook: notes the versions before anything is read, so that they can only be too old.
#}
{% macro note_inputs() %}
    {%- do alluvium.note_replaced() if config.get("materialized") == "table" -%}
    {%- if execute and alluvium.is_computed_whole() -%}
        {%- do alluvium.require_one_of("note_inputs: model " ~ model.name, "+meta.alluvium_model of the folder in dbt_project.yml", alluvium.kind_of_model(model), ["mart"]) -%}
        {%- do alluvium.require_strategy("note_inputs", "insert_overwrite") -%}
        {%- do alluvium.require_one_of("note_inputs: model " ~ model.name, "file_format", config.get("file_format"), ["delta", "hudi"]) -%}
        {%- do alluvium.refuse_own_filter("note_inputs") -%}
        {%- do alluvium.require_hudi("note_inputs: model " ~ model.name) if alluvium.is_hudi() -%}
        {%- do alluvium.remember("inputs", this, alluvium.inputs_fingerprint(model)) -%}
    {%- endif -%}
{% endmacro %}


{# A table, for both materializations have the strategy from the folder. A view in it has no rows of its own. #}
{% macro is_computed_whole() %}
    {{ return(config.get("incremental_strategy") == "insert_overwrite" and config.get("materialized") in ["incremental", "table"]) }}
{% endmacro %}


{# The post-hook. #}
{% macro record_inputs() %}
    {%- if execute and alluvium.is_computed_whole() and not alluvium.has_same_inputs() -%}
        {%- set properties = {"inputs": alluvium.remembered("inputs", this)} -%}
        {%- do properties.update(alluvium.commit_properties_of_hudi(this)) if alluvium.is_hudi() -%}
        {%- do alluvium.set_properties(this, properties) -%}
    {%- endif -%}
{% endmacro %}


{% macro has_same_inputs() %}
    {%- set properties = alluvium.table_properties(this) -%}
    {{ return(
        properties.get("inputs", "none") == alluvium.remembered("inputs", this) and "rebuild_begun" not in properties
        and not alluvium.is_taken_back(this, properties)
    ) }}
{% endmacro %}


{# Of the mart's SQL and what is behind it; `unknown` and the run's id where that cannot be told. #}
{% macro inputs_fingerprint(node) %}
    {%- set inputs = alluvium.inputs_behind(node) -%}
    {%- if not inputs or none in inputs -%}
        {{ return("unknown_" ~ alluvium.run_id()) }}
    {%- endif -%}
    {{ return(local_md5(tojson([node.compiled_code, inputs]))) }}
{% endmacro %}


{#
    One text for each relation that a model reads: the newest commit of a Delta or Hudi table, the query of a view and what is
    behind that; none stands for anything else.
#}
{% macro inputs_behind(node) %}
    {%- set inputs, seen = [], [this.schema ~ "." ~ this.identifier] -%}
    {%- for id in node.depends_on.nodes -%}
        {%- set parent = graph.nodes.get(id) -%}
        {%- if parent and parent.config.materialized == "ephemeral" -%}
            {%- do inputs.extend(alluvium.inputs_behind(parent)) -%}
        {%- else -%}
            {%- do inputs.extend(alluvium.inputs_of_relation(parent.schema ~ "." ~ parent.alias, seen) if parent else [none]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(inputs | unique | list) }}
{% endmacro %}


{#
    As the catalog has it: a run may select the mart and not what it reads, which may have been edited since it was built. Asked once for all marts of a run: what is behind a mart has been built
    before it.
#}
{% macro inputs_of_relation(name, seen) %}
    {%- do seen.append(name) -%}
    {%- set state, key = alluvium.run_state(), "details of " ~ name -%}
    {#- Whole when it is there: other threads read it. -#}
    {%- do state.update({key: alluvium.details_of_relation(name)}) if key not in state -%}
    {%- set details = state[key] -%}
    {%- if details.Type != "VIEW" -%}
        {{ return([details.commit]) }}
    {%- endif -%}
    {%- set inputs = [details["View Text"]] -%}
    {%- for other in alluvium.relations_named(details["View Text"]) if other not in seen -%}
        {%- do inputs.extend([none] if other is none else alluvium.inputs_of_relation(other, seen)) -%}
    {%- endfor -%}
    {{ return(inputs) }}
{% endmacro %}


{% macro details_of_relation(name) %}
    {%- set details = {} -%}
    {#- These come after the columns, which may have their names. -#}
    {%- for row in alluvium.query_rows("describe extended " ~ name) -%}
        {%- do details.update({row.col_name: row.data_type}) -%}
    {%- endfor -%}
    {%- set has_commits = details.Type != "VIEW" and details.Provider in ["delta", "hudi"] -%}
    {{ return(dict(details, commit=alluvium.newest_commit(name, details.Provider) if has_commits else none)) }}
{% endmacro %}


{# The tables and views that a view reads; none stands for one that is no model's. A comment may name one that is not there, and a view that was built before a model got another name the old one. #}
{% macro relations_named(text) %}
    {%- set pairs = modules.re.findall("\\b(?=(\\w+\\.\\w+))", text | replace("`", "") | lower) -%}
    {%- set named, known, schemas = [], [], [] -%}
    {%- for node in graph.nodes.values() -%}
        {%- do known.append((node.schema ~ "." ~ node.alias) | lower) -%}
        {%- do schemas.append(node.schema | lower) -%}
    {%- endfor -%}
    {%- for pair in pairs | unique if pair not in known and pair.split(".")[0] in schemas -%}
        {%- do named.append(pair) if load_relation(api.Relation.create(schema=pair.split(".")[0], identifier=pair.split(".")[1])) is not none -%}
    {%- endfor -%}
    {%- for node in graph.nodes.values() if (node.schema ~ "." ~ node.alias) | lower in pairs -%}
        {%- do named.append(node.schema ~ "." ~ node.alias) if load_relation(api.Relation.create(schema=node.schema, identifier=node.alias)) is not none -%}
    {%- endfor -%}
    {%- for table in graph.sources.values() if (table.schema ~ "." ~ table.identifier) | lower in pairs -%}
        {%- do named.append(none) -%}
    {%- endfor -%}
    {{ return(named or ([none] if pairs else [])) }}
{% endmacro %}


{#
    Of those that may have changed rows: compaction, vacuum and the purge of deletion vectors have not. With its time: a table that was dropped and made
    again counts from 0. Where none of the newest hundred has changed rows, or history is not kept that long, the newest of all: then a mart
    is computed once more.
#}
{% macro newest_commit(table, file_format) %}
    {%- if file_format == "hudi" -%}
        {{ return(table ~ " " ~ alluvium.newest_commit_of_hudi(table).commit_time) }}
    {%- endif -%}
    {%- set newest = alluvium.query_rows("describe history " ~ table ~ " limit 1") -%}
    {%- if newest[0].operation in alluvium.maintenance_operations() -%}
        {%- set commits = alluvium.query_rows("describe history " ~ table ~ " limit 100") -%}
        {%- set newest = commits | rejectattr("operation", "in", alluvium.maintenance_operations()) | list + newest -%}
    {%- endif -%}
    {{ return(table ~ " " ~ newest[0].version ~ " " ~ newest[0].timestamp) }}
{% endmacro %}


{# As Delta (3.3.3) calls them in a table's history. #}
{% macro maintenance_operations() %}
    {{ return(["OPTIMIZE", "REORG", "VACUUM START", "VACUUM END"]) }}
{% endmacro %}


{#
    dbt-spark's insert_overwrite strategy asks for this SQL. The property goes first, so that a run that is killed
    between the rows and the new one leaves none. A model without note_inputs, of a project that has this one as a package, is dbt-spark's.
#}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
    {%- if alluvium.remembered("inputs", this) is none -%}
        {{ return(dbt.get_insert_overwrite_sql(source_relation, target_relation, existing_relation)) }}
    {%- endif -%}
    {%- do alluvium.require_format_of_table("get_insert_overwrite_sql") -%}
    {%- do alluvium.require_properties_of_hudi_table("model " ~ model.name, target_relation) if alluvium.is_hudi() -%}
    {%- if alluvium.has_same_inputs() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium.require_claimed_session("get_insert_overwrite_sql") -%}
    {%- do alluvium.require_clock_of_hudi("get_insert_overwrite_sql", target_relation) if alluvium.is_hudi() -%}
    {%- do alluvium.unset_properties(target_relation, ["inputs", "rebuild_begun"]) -%}
    {{ return(alluvium.overwrite_sql(source_relation, target_relation)) }}
{% endmacro %}


{#
    Whatever the session's `partitionOverwriteMode` is: with DYNAMIC, partitions that have no row any more would stay. dbt-spark (1.11) sets that before any model with
    `partition_by` and this strategy, in a session that all threads share. Of Hudi's tables each has its own mode (fixed_properties_of_hudi).
#}
{% macro overwrite_sql(source, target) %}
    {%- set columns = alluvium.same_columns(source, target) -%}
    {%- set partitions = alluvium.require_partitions_of_table("overwrite_sql", target) -%}
    {{ return(
        alluvium.replace_all_sql(source, target, columns, partitions[0]) if partitions and not alluvium.is_hudi()
        else alluvium.insert_into_sql(source, target, columns, "overwrite")
    ) }}
{% endmacro %}


{#
    Delta (3.3.3) asks for no mode where a condition says what is replaced, and takes a condition on a partition from its log, without reading rows. `true` is none to it.
    This statement of Spark's (3.5) has no list of columns: they come in the table's order.
#}
{% macro replace_all_sql(source, target, columns, partition) -%}
    {%- set partition = alluvium.quoted_identifier(partition) -%}
    insert into {{ target }}
    replace where {{ partition }} is null or {{ partition }} is not null
    select
        {%- for column in adapter.get_columns_in_relation(target) %}
        {%- set name = alluvium.quoted_identifier(column.name) %}
        {{ name if column.name in columns else "null as " ~ name }}{{ "," if not loop.last }}
        {%- endfor %}
    from {{ source }}
{%- endmacro %}


{# A table keeps those that it was made with, whatever the model says later, and what a partition cannot have is looked for by the model's. #}
{% macro require_partitions_of_table(caller_name, table) %}
    {%- set partitions = alluvium.partitions_of_table(table) -%}
    {%- set named = alluvium.partition_names() -%}
    {%- if partitions | map("lower") | list != named | map("lower") | list -%}
        {% do alluvium.raise_invalid(
            caller_name ~ ": model " ~ model.name, "partition_by", named or none,
            (partitions | join(", ") or "none") ~ ", as the table has it; another one needs " ~ alluvium.rebuild_command(table),
        ) %}
    {%- endif -%}
    {{ return(partitions) }}
{% endmacro %}


{% macro partitions_of_table(table) %}
    {%- if not alluvium.is_hudi() -%}
        {#- dbt (1.11) gives a list as its JSON. -#}
        {{ return(fromjson(alluvium.query_rows("describe detail " ~ table)[0].partitionColumns)) }}
    {%- endif -%}
    {#- Below this line and the heading of the columns. -#}
    {%- set lines, begin = alluvium.query_rows("describe " ~ table) | map(attribute="col_name") | list, "# Partition Information" -%}
    {{ return(lines[lines.index(begin) + 2:] if begin in lines else []) }}
{% endmacro %}
