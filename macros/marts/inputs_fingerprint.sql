{# Of the mart's SQL and what is behind it; `unknown` and the run's id where that cannot be told. #}
{% macro _inputs_fingerprint(node) %}
    {%- set inputs = alluvium._inputs_behind(node) -%}
    {%- if not inputs or none in inputs -%}
        {{ return("unknown_" ~ alluvium._run_id()) }}
    {%- endif -%}
    {{ return(local_md5(tojson([node.compiled_code, inputs]))) }}
{% endmacro %}


{#
    A mart with the strategy `insert_overwrite` is computed whole, and only when its own SQL or a table behind it has
    changed since. What it was computed from is kept as a property of the mart itself, so it goes with the mart when
    that is dropped, replaced or restored. A mart that calls current_date() or the like wants `materialized="table"`.
    The pre-hook: notes the versions before anything is read, so that they can only be too old.
#}
{% macro note_inputs() %}
    {%- do alluvium._note_replaced() if config.get("materialized") == "table" -%}
    {%- if execute and alluvium._is_computed_whole() -%}
        {%- do alluvium._require_one_of(
            "note_inputs: model " ~ model.name, "+meta.alluvium_model of the folder in dbt_project.yml",
            alluvium._kind_of_model(model), ["mart"]
        ) -%}
        {%- do alluvium._require_strategy("note_inputs", "insert_overwrite") -%}
        {%- do alluvium._require_one_of(
            "note_inputs: model " ~ model.name, "file_format", config.get("file_format"), ["delta", "hudi"]
        ) -%}
        {%- do alluvium._require_no_own_filter("note_inputs") -%}
        {%- do alluvium._require_hudi("note_inputs: model " ~ model.name) if alluvium._is_hudi() -%}
        {%- do alluvium._remember("inputs", this, alluvium._inputs_fingerprint(model)) -%}
    {%- endif -%}
{% endmacro %}


{# The post-hook. #}
{% macro record_inputs() %}
    {%- if execute and alluvium._is_computed_whole() and not alluvium._has_same_inputs() -%}
        {%- set properties = {"inputs": alluvium._remembered("inputs", this)} -%}
        {%- do properties.update(alluvium._commit_properties_of_hudi(this)) if alluvium._is_hudi() -%}
        {%- do alluvium._set_properties(this, properties) -%}
    {%- endif -%}
{% endmacro %}


{% macro _has_same_inputs() %}
    {%- set properties = alluvium._table_properties(this) -%}
    {{ return(
        properties.get("inputs", "none") == alluvium._remembered("inputs", this) and "rebuild_begun" not in properties
        and not alluvium._is_taken_back(this, properties)
    ) }}
{% endmacro %}


{#
    One text for each relation that a model reads: the newest commit of a Delta or Hudi table, the query of a view and
    what is behind that; none stands for anything else.
#}
{% macro _inputs_behind(node) %}
    {%- set inputs, seen = [], [this.schema ~ "." ~ this.identifier] -%}
    {%- for id in node.depends_on.nodes -%}
        {%- set parent = graph.nodes.get(id) -%}
        {%- if parent and parent.config.materialized == "ephemeral" -%}
            {%- do inputs.extend(alluvium._inputs_behind(parent)) -%}
        {%- else -%}
            {%- do inputs.extend(
                    alluvium._inputs_of_relation(parent.schema ~ "." ~ parent.alias, seen) if parent else [none]
                ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(inputs | unique | list) }}
{% endmacro %}


{#
    As the catalog has it: a run may select the mart and not what it reads, which may have been edited since it was
    built. Asked once for all marts of a run where what is asked about has been built by then (`is_built`): a comment of
    a view may name a table that the view does not wait for.
#}
{% macro _inputs_of_relation(name, seen, is_built=true) %}
    {%- do seen.append(name) -%}
    {%- set state, key = alluvium._run_state(), "details of " ~ name -%}
    {#- Whole when it is there: other threads read it. -#}
    {%- set details = state[key] if key in state else alluvium._details_of_relation(name) -%}
    {%- do state.update({key: details}) if is_built -%}
    {%- if details.Type != "VIEW" -%}
        {{ return([details.commit]) }}
    {%- endif -%}
    {%- set inputs = [details["View Text"]] -%}
    {%- set built = alluvium._parents_of_relation(name) if is_built else [] -%}
    {%- for other in alluvium._relations_named(details["View Text"]) if other not in seen -%}
        {%- do inputs.extend([none] if other is none else alluvium._inputs_of_relation(other, seen, other in built)) -%}
    {%- endfor -%}
    {{ return(inputs) }}
{% endmacro %}


{# The names of the models that dbt builds before the one of that name. #}
{% macro _parents_of_relation(name) %}
    {%- set node = alluvium._node_of_relation(
        api.Relation.create(schema=name.split(".")[0], identifier=name.split(".")[1])
    ) -%}
    {%- set names = [] -%}
    {%- for id in (node.depends_on.nodes if node else []) if id in graph.nodes -%}
        {%- do names.append(graph.nodes[id].schema ~ "." ~ graph.nodes[id].alias) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro _details_of_relation(name) %}
    {#- dbt's own list of relations knows a Delta table, and costs nothing. -#}
    {%- set listed = load_relation(api.Relation.create(schema=name.split(".")[0], identifier=name.split(".")[1])) -%}
    {%- if listed is not none and listed.is_table and listed.is_delta -%}
        {{ return({"Type": "TABLE", "commit": alluvium._latest_commit(name, "delta")}) }}
    {%- endif -%}
    {%- set details = {} -%}
    {#- These come after the columns, which may have their names. -#}
    {%- for row in alluvium._query_rows("describe extended " ~ name) -%}
        {%- do details.update({row.col_name: row.data_type}) -%}
    {%- endfor -%}
    {%- set has_commits = details.Type != "VIEW" and details.Provider in ["delta", "hudi"] -%}
    {{ return(dict(details, commit=alluvium._latest_commit(name, details.Provider) if has_commits else none)) }}
{% endmacro %}


{#
    The tables and views that a view reads; none stands for one that is no model's. A comment may name one that is not
    there, and a view that was built before a model got another name the old one.
#}
{% macro _relations_named(text) %}
    {%- set pairs = modules.re.findall("\\b(?=(\\w+\\.\\w+))", text | replace("`", "") | lower) -%}
    {%- set named, known, schemas = [], [], [] -%}
    {%- for node in graph.nodes.values() -%}
        {%- do known.append((node.schema ~ "." ~ node.alias) | lower) -%}
        {%- do schemas.append(node.schema | lower) -%}
    {%- endfor -%}
    {%- for pair in pairs | unique if pair not in known and pair.split(".")[0] in schemas -%}
        {%- do named.append(pair)
            if load_relation(
                api.Relation.create(schema=pair.split(".")[0], identifier=pair.split(".")[1])
            ) is not none -%}
    {%- endfor -%}
    {%- for node in graph.nodes.values() if (node.schema ~ "." ~ node.alias) | lower in pairs -%}
        {%- do named.append(node.schema ~ "." ~ node.alias)
            if load_relation(alluvium._relation_of_node(node)) is not none -%}
    {%- endfor -%}
    {%- for table in graph.sources.values() if (table.schema ~ "." ~ table.identifier) | lower in pairs -%}
        {%- do named.append(none) -%}
    {%- endfor -%}
    {{ return(named or ([none] if pairs else [])) }}
{% endmacro %}


{#
    Of those that may have changed rows: compaction, vacuum and the purge of deletion vectors have not. With its time: a
    table that was dropped and made again counts from 0. Where none of the newest hundred has changed rows, or history
    is not kept that long, the newest of all: then a mart is computed once more.
#}
{% macro _latest_commit(table, file_format) %}
    {%- if file_format == "hudi" -%}
        {{ return(table ~ " " ~ alluvium._latest_commit_of_hudi(table).commit_time) }}
    {%- endif -%}
    {%- set newest = alluvium._query_rows("describe history " ~ table ~ " limit 1") -%}
    {%- if newest[0].operation in alluvium._maintenance_operations() -%}
        {%- set commits = alluvium._query_rows("describe history " ~ table ~ " limit 100") -%}
        {%- set newest = commits | rejectattr("operation", "in", alluvium._maintenance_operations()) | list + newest -%}
    {%- endif -%}
    {{ return(table ~ " " ~ newest[0].version ~ " " ~ newest[0].timestamp) }}
{% endmacro %}


{# As Delta (3.3.3) calls them in a table's history. #}
{% macro _maintenance_operations() %}
    {{ return(["OPTIMIZE", "REORG", "VACUUM START", "VACUUM END"]) }}
{% endmacro %}
