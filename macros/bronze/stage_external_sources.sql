{#
    Creates the external tables of sources.yml. Runs by itself before the models (on-run-start) and by hand:
    dbt run-operation stage_external_sources [--args '{select: shop.orders}'].
#}
{% macro stage_external_sources(select=none) %}
    {%- if execute and flags.WHICH in ["build", "run", "test", "run-operation", "retry", "snapshot", "seed"] -%}
        {{ return(adapter.dispatch("stage_external_sources", "alluvium")(select)) }}
    {%- endif -%}
{% endmacro %}


{% macro default__stage_external_sources(select) %}
    {%- set sources = alluvium.external_sources(select) -%}
    {%- set staged = alluvium.staged_declarations(sources | map(attribute="schema") | unique | list) -%}
    {%- for node in sources -%}
        {%- set declaration = alluvium.external_declaration(node) -%}
        {%- if staged.get((node.schema ~ "." ~ node.identifier) | lower) != declaration -%}
            {%- do alluvium.create_external_relations(node, declaration) -%}
            {%- do log(loop.index ~ " of " ~ (sources | length) ~ " STAGED external source " ~ node.source_name ~ "." ~ node.name, info=true) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# The sources to stage: by name, else those that the selected resources read, else (run-operation) all. #}
{% macro external_sources(select) %}
    {%- set wanted = [] -%}
    {%- for id in selected_resources or [] if id in graph.nodes -%}
        {%- do wanted.extend(graph.nodes[id].depends_on.nodes) -%}
    {%- endfor -%}
    {%- set sources = [] -%}
    {%- for node in graph.sources.values() if node.external and node.external.location -%}
        {%- set name = node.source_name ~ "." ~ node.name -%}
        {%- if select -%}
            {%- if name in select.split() or node.source_name in select.split() -%}{%- do sources.append(node) -%}{%- endif -%}
        {%- elif flags.WHICH == "run-operation" or node.unique_id in wanted -%}
            {%- do sources.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if select and not sources -%}
        {% do alluvium.raise_invalid("stage_external_sources", "select", select, graph.sources.values() | map(attribute="name") | list) %}
    {%- endif -%}
    {{ return(sources) }}
{% endmacro %}


{# What was staged, read in one catalog call a schema: relation -> fingerprint of its declaration. #}
{% macro staged_declarations(schemas) %}
    {%- set staged = {} -%}
    {%- for schema in schemas -%}
        {%- do run_query("create schema if not exists " ~ schema) -%}
        {%- for row in alluvium.query_rows("show table extended in " ~ schema ~ " like '*'") -%}
            {%- set found = modules.re.search("alluvium\\.declaration=([0-9a-f]{32})", row.information) -%}
            {%- if found -%}{%- do staged.update({(schema ~ "." ~ row.tableName) | lower: found.group(1)}) -%}{%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(staged) }}
{% endmacro %}


{% macro external_declaration(node) %}
    {{ return(local_md5(tojson({
        "revision": 1,
        "location": node.external.location,
        "format": alluvium.external_format("stage_external_sources", node.external),
        "options": alluvium.external_options(node.external),
    }, sort_keys=true))) }}
{% endmacro %}


{#
    Two relations a source: <identifier> holds the records, <identifier>__files lists the files. The listing is
    declared last, so its fingerprint on <identifier> is there only when both are.
    A path glob or a hidden name (Spark skips names that start with `_` or `.`) is refused by the reader of the
    listing, not here: an empty folder is a legal state before the first file lands.
#}
{% macro create_external_relations(node, declaration) %}
    {%- set relation = api.Relation.create(schema=node.schema, identifier=node.identifier) -%}
    {%- set files = api.Relation.create(schema=node.schema, identifier=node.identifier ~ "__files") -%}
    {%- set format = alluvium.external_format("stage_external_sources", node.external) -%}
    {%- do run_query("drop table if exists " ~ relation) -%}
    {%- do run_query("drop table if exists " ~ files) -%}
    {%- do run_query(alluvium.create_external_table_sql(files, "binaryFile", none, node.external, none)) -%}
    {%- do run_query(alluvium.create_external_table_sql(
        relation,
        "text" if format == "json" else "binaryFile",
        "value string" if format == "json" else none,
        node.external,
        declaration,
    )) -%}
{% endmacro %}


{% macro create_external_table_sql(relation, provider, columns, external, declaration) -%}
    create table {{ relation }}{{ " (" ~ columns ~ ")" if columns }}
    using {{ provider }}
    options (
        {%- for option, value in alluvium.external_options(external).items() %}
        {{ alluvium.string_literal(option) }} {{ alluvium.string_literal(value) }},
        {%- endfor %}
        {%- if provider == "text" %}
        'lineSep' '\n',
        {%- endif %}
        'path' {{ alluvium.string_literal(external.location) }}
    )
    {%- if declaration %}
    tblproperties ('alluvium.declaration' = '{{ declaration }}')
    {%- endif %}
{%- endmacro %}


{#
    Folders below the location are read whatever their names are: partition values come from the record, never
    from the path, so a space or an odd character in `country=United States` is no matter.
#}
{% macro external_options(external) %}
    {%- set options = {"recursiveFileLookup": "true"} -%}
    {%- for option, value in (external.options or {}).items() -%}
        {%- do options.update({option: value | string}) -%}
    {%- endfor -%}
    {{ return(options) }}
{% endmacro %}


{% macro external_format(caller_name, external) %}
    {%- set allowed = ["json", "avro", "parquet"] -%}
    {{ return(alluvium.require_one_of(caller_name, "external.using", (external.using or external.file_format or "") | lower, allowed)) }}
{% endmacro %}
