{#
    Creates the external tables of sources.yml. Runs by itself before the models (on-run-start) and by hand:
    dbt run-operation stage_external_sources [--args '{select: shop.orders}'].
#}
{% macro stage_external_sources(select=none) %}
    {%- if execute and flags.WHICH in ["build", "run", "test", "run-operation", "retry", "snapshot", "seed"] -%}
        {%- do alluvium._require_no_own_models() -%}
        {{ return(alluvium._stage_sources(select)) }}
    {%- endif -%}
{% endmacro %}


{% macro _stage_sources(select) %}
    {%- set sources = alluvium._external_sources(select) -%}
    {%- set changed = alluvium._stage_changed_sources(sources) -%}
    {%- if flags.WHICH == "run-operation" and not changed -%}
        {%- do log(sources | length ~ " external sources, all of them staged as they are declared", info=true) -%}
    {%- endif -%}
{% endmacro %}


{# Those that are not staged as they are declared now, which it returns. #}
{% macro _stage_changed_sources(sources) %}
    {%- set staged = alluvium._staged_declarations(sources | map(attribute="schema") | unique | list) -%}
    {%- set changed = [] -%}
    {%- for node in sources -%}
        {%- set declaration = alluvium._external_declaration(node) -%}
        {%- if staged.get((node.schema ~ "." ~ node.identifier) | lower) != declaration -%}
            {%- do alluvium._create_external_relations(node, declaration) -%}
            {%- do log(
                loop.index ~ " of " ~ (sources | length) ~ " STAGED external source " ~ node.source_name ~ "."
                ~ node.name,
                info=true
            ) -%}
            {%- do changed.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(changed) }}
{% endmacro %}


{# Before an operation asks which files there are: the last build may have had another location. #}
{% macro _stage_feed(feed) %}
    {%- for node in graph.sources.values() if node.source_name == feed.source_name and node.name == feed.entity -%}
        {%- do alluvium._stage_changed_sources([node]) -%}
    {%- endfor -%}
{% endmacro %}


{#
    The sources to stage: those named in `select`, else those that the selected resources read, else (run-operation)
    all.
#}
{% macro _external_sources(select) %}
    {%- set names = (select or "").split() -%}
    {%- set wanted = [] -%}
    {%- for id in selected_resources or [] if id in graph.nodes -%}
        {%- do wanted.extend(graph.nodes[id].depends_on.nodes) -%}
    {%- endfor -%}
    {%- do alluvium._require_no_shared_relations() -%}
    {%- set sources, known = [], [] -%}
    {%- for node in graph.sources.values() if node.external and node.external.location -%}
        {%- set name = node.source_name ~ "." ~ node.name -%}
        {%- do known.extend([node.source_name, name]) -%}
        {%- if name in names or node.source_name in names
            or (not names and (flags.WHICH == "run-operation" or node.unique_id in wanted)) -%}
            {%- do sources.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in names -%}
        {% do alluvium._require_one_of("stage_external_sources", "select", name, known | unique | list) %}
    {%- endfor -%}
    {{ return(sources) }}
{% endmacro %}


{# Two sources of one relation would be staged over each other, by turns; dbt compares the names of models only. #}
{% macro _require_no_shared_relations() %}
    {%- set owners = {} -%}
    {%- for node in graph.sources.values() if node.external and node.external.location -%}
        {%- set name = node.source_name ~ "." ~ node.name -%}
        {%- for relation in [node.schema ~ "." ~ node.identifier, node.schema ~ "." ~ node.identifier ~ "__files"] -%}
            {%- if relation | lower in owners -%}
                {% do alluvium._raise_invalid(
                    "stage_external_sources: source " ~ name,
                    "relation",
                    relation,
                    "an identifier of its own; this one is that of source " ~ owners[relation | lower],
                ) %}
            {%- endif -%}
            {%- do owners.update({relation | lower: name}) -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{#
    What was staged, read in one catalog call a schema: relation -> fingerprint of its declaration. Both of a source's
    relations have to be there.
#}
{% macro _staged_declarations(schemas) %}
    {%- set staged = {} -%}
    {%- for schema in schemas -%}
        {%- do run_query("create schema if not exists " ~ schema) -%}
        {%- set tables = alluvium._query_rows("show table extended in " ~ schema ~ " like '*'") -%}
        {%- set names = tables | map(attribute="tableName") | list -%}
        {%- for row in tables -%}
            {%- set found = modules.re.search("alluvium\\.declaration=([0-9a-f]{32})", row.information) -%}
            {%- if found and row.tableName ~ "__files" in names -%}
                {%- do staged.update({(schema ~ "." ~ row.tableName) | lower: found.group(1)}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(staged) }}
{% endmacro %}


{% macro _external_declaration(node) %}
    {{ return(local_md5(tojson({
        "revision": 1,
        "location": alluvium._absolute_location(node.external.location),
        "format": alluvium._external_format(alluvium._subject_of_source("stage_external_sources", node), node.external),
        "options": alluvium._external_options(node.external),
    }, sort_keys=true))) }}
{% endmacro %}


{#
    Two relations a source: <identifier> holds the lines (files, for Avro and Parquet), <identifier>__files lists
    the files. The one with the fingerprint is made last, so it is there only when both are. An empty folder is a
    legal state before the first file lands.
#}
{% macro _create_external_relations(node, declaration) %}
    {%- do alluvium._require_no_hidden_names(node) -%}
    {%- set relation = api.Relation.create(schema=node.schema, identifier=node.identifier) -%}
    {%- set files = api.Relation.create(schema=node.schema, identifier=node.identifier ~ "__files") -%}
    {%- set format =
        alluvium._external_format(alluvium._subject_of_source("stage_external_sources", node), node.external) -%}
    {%- do run_query("drop table if exists " ~ relation) -%}
    {%- do run_query("drop table if exists " ~ files) -%}
    {%- do run_query(alluvium._create_external_table_sql(files, "binaryFile", none, node.external, none)) -%}
    {%- do run_query(alluvium._create_external_table_sql(
        relation,
        "text" if format == "json" else "binaryFile",
        "value string" if format == "json" else none,
        node.external,
        declaration,
    )) -%}
{% endmacro %}


{# Spark's file listing leaves out names that start with `_` or `.` and says nothing; so would the change log. #}
{% macro _require_no_hidden_names(node) %}
    {%- set names =
        [
            node.external.location.rstrip("/").split("/") | last,
            (node.external.options or {}).get("pathGlobFilter", "*")
        ] -%}
    {%- for name in names if name[:1] in ["_", "."] -%}
        {% do alluvium._raise_invalid(
            alluvium._subject_of_source("stage_external_sources", node),
            "external.location or options.pathGlobFilter",
            name,
            "a name that does not start with `_` or `.`: Spark does not list such files",
        ) %}
    {%- endfor -%}
{% endmacro %}


{% macro _create_external_table_sql(relation, provider, columns, external, declaration) -%}
    create table {{ relation }}{{ " (" ~ columns ~ ")" if columns }}
    using {{ provider }}
    options (
        {%- for option, value in alluvium._external_options(external).items() %}
        {{ alluvium._string_literal(option) }} {{ alluvium._string_literal(value) }},
        {%- endfor %}
        {%- if provider == "text" %}
        'lineSep' '\n',
        {%- endif %}
        'path' {{ alluvium._string_literal(alluvium._absolute_location(external.location)) }}
    )
    {%- if declaration %}
    tblproperties ('alluvium.declaration' = '{{ declaration }}')
    {%- endif %}
{%- endmacro %}


{#
    A relative location starts at the project. Spark would start it at the schema's folder in the warehouse, and find
    nothing.
#}
{% macro _absolute_location(location) %}
    {%- if location.startswith("/") or modules.re.match("[A-Za-z][A-Za-z0-9+.-]*:", location) -%}
        {{ return(location) }}
    {%- endif -%}
    {#- The session that dbt's plugin makes knows it; dbt tells a macro no directory. -#}
    {%- set project = alluvium._lasting_setting("alluvium.project_directory") -%}
    {%- if project is none -%}
        {% do alluvium._raise_invalid(
                "stage_external_sources", "external.location", location, "an absolute path or a URI"
            ) %}
    {%- endif -%}
    {{ return(project ~ "/" ~ location) }}
{% endmacro %}
