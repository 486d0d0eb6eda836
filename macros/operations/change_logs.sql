{#
    The change logs of one entity, of one source or of all, for operations: each with its node and its relation. The
    names that are given have to be there.
#}
{% macro _change_logs(caller_name, source=none, entity=none) %}
    {%- set logs, sources, entities = [], [], [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == "model" and alluvium._is_change_log(node) -%}
        {%- set table = graph.sources[node.depends_on.nodes | first] -%}
        {%- do sources.append(table.source_name) -%}
        {%- if source in [none, table.source_name] -%}
            {%- do entities.append(table.name) -%}
            {%- if entity in [none, table.name] -%}
                {%- do logs.append(
                        {"node": node, "relation": alluvium._relation_of_node(node)}
                    ) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do alluvium._require_one_of(caller_name, "source", source, sources | unique | sort)
        if source is not none or entity is not none -%}
    {%- do alluvium._require_one_of(caller_name ~ ": source " ~ source, "entity", entity, entities | unique | sort)
        if entity is not none -%}
    {{ return(logs | sort(attribute="node.name")) }}
{% endmacro %}


{# Those of one entity, with the feed behind them; refused where one has no table yet. #}
{% macro _change_logs_of_entity(caller_name, source, entity) %}
    {%- set logs = alluvium._change_logs(caller_name, source or "", entity or "") -%}
    {%- for change_log in logs -%}
        {%- do change_log.update({"feed": alluvium._feed_of_node(caller_name, change_log.node)}) -%}
    {%- endfor -%}
    {%- for change_log in logs if load_relation(change_log.relation) is none -%}
        {% do alluvium._raise_invalid(
            caller_name, "change log", change_log.relation.render(),
            "one that has been built; `dbt build --select " ~ change_log.node.name ~ "+` builds it"
        ) %}
    {%- endfor -%}
    {{ return(logs) }}
{% endmacro %}


{#
    The ids of some models and of all whose rows come from theirs. A state reads logs of other tables, too, for the ends
    of their snapshots, and a log of complete transactions their status: rows come from the first.
#}
{% macro _models_behind(ids) %}
    {%- set found = ids | list -%}
    {%- for id, node in graph.nodes.items() if node.resource_type == "model" and id not in ids -%}
        {%- set parents = node.depends_on.nodes[:1] if alluvium._reads_own_log(node) else node.depends_on.nodes -%}
        {%- do found.append(id) if parents | select("in", ids) | list -%}
    {%- endfor -%}
    {{ return(ids if found | length == ids | length else alluvium._models_behind(found)) }}
{% endmacro %}


{# A public operation does nothing before it is told to: `dry_run: false`. #}
{% macro _require_dry_run(caller_name, dry_run) %}
    {%- do alluvium._require_one_of(caller_name, "dry_run", dry_run, [true, false]) -%}
{% endmacro %}


{# The last line of a dry run. #}
{% macro _announce_dry_run(caller_name) %}
    {%- do log(caller_name ~ ": nothing is changed; `dry_run: false` does it", info=true) -%}
{% endmacro %}


{# A list of one or more texts, or none. #}
{% macro _require_texts(caller_name, argument, given, allowed) %}
    {%- if given is string or given is mapping or given is not sequence or not given or given | reject("string") | list
        or "" in given -%}
        {% do alluvium._raise_invalid(caller_name, argument, given, allowed) %}
    {%- endif -%}
{% endmacro %}


{#
    The condition that a path is one of those that a pattern names: the whole path as the ledgers have it, or its end
    from a folder on. `*` stands for any characters, `?` for one.
#}
{% macro _is_path_of(path, pattern) %}
    {%- set text = pattern | replace("\\", "\\\\") | replace("%", "\\%") | replace("_", "\\_") | replace("*", "%")
        | replace("?", "_") -%}
    {{ return(
        "(" ~ path ~ " like " ~ alluvium._string_literal(text) ~ " or " ~ path ~ " like "
        ~ alluvium._string_literal("%/" ~ text) ~ ")"
    ) }}
{% endmacro %}


{# Rows on the terminal, in columns as wide as they need to be; figures to the right. #}
{% macro _show_table(headings, rows) %}
    {%- set formats = [] -%}
    {%- for heading in headings -%}
        {%- set cells = rows | map(attribute=loop.index0) | map("default", "", true) | map("string") | list -%}
        {%- set widths = [heading | length] + cells | map("length") | list -%}
        {%- do formats.append(
            "%" ~ ("" if rows | map(attribute=loop.index0) | select("number") | list else "-") ~ widths | max ~ "s"
        ) -%}
    {%- endfor -%}
    {%- for row in [headings] + rows -%}
        {%- set cells = [] -%}
        {%- for cell in row -%}
            {%- do cells.append(formats[loop.index0] % ("" if cell is none else cell)) -%}
        {%- endfor -%}
        {%- do log((cells | join("  ")).rstrip(), info=true) -%}
    {%- endfor -%}
{% endmacro %}
