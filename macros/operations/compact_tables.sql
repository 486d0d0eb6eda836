{#
    Makes few large files of a table's many small ones: Delta's OPTIMIZE, Hudi's clustering. Rows, batches and what is
    behind a table stay as they are: a mart does not count a compaction of Delta's as a change of its inputs
    (_latest_commit), nor the ledger of runs any as rows written. dbt run-operation compact_tables --args '{models:
    [stg_shop__orders], dry_run: false}' Run it while no build runs. Delta stops one of two that change the same files;
    nothing is lost then.
#}
{% macro compact_tables(models=none, dry_run=true) %}
    {%- if execute -%}
        {%- do alluvium._require_dry_run("compact_tables", dry_run) -%}
        {{ return(alluvium._compact(alluvium._tables_to_maintain("compact_tables", models), dry_run)) }}
    {%- endif -%}
{% endmacro %}


{% macro _compact(tables, dry_run) %}
    {%- if not dry_run -%}
        {%- do log(
            "compact_tables: where it meets a run that writes, Delta stops one of the two (DELTA_CONCURRENT_...); "
            "nothing is lost, run the stopped one again",
            info=true
        ) -%}
    {%- endif -%}
    {%- set rows = [] -%}
    {%- for table in tables -%}
        {%- set before = alluvium._table_figures(table) -%}
        {%- do alluvium._maintain(table, alluvium._compaction_sql(table)) if not dry_run -%}
        {%- do rows.append(
            [table.relation.render(), before.files, before.bytes]
            + ([] if dry_run else [alluvium._table_figures(table).files])
        ) -%}
    {%- endfor -%}
    {%- do alluvium._show_table(["table", "files", "bytes"] + ([] if dry_run else ["files after"]), rows) -%}
    {%- do alluvium._announce_dry_run("compact_tables") if dry_run -%}
{% endmacro %}


{#
    What the statement gives. A session that lives on, a Thrift server's, would read the files of Hudi's that it had
    listed before, and which may be gone (1.2.0).
#}
{% macro _maintain(table, statement) %}
    {%- if table.file_format == "hudi" -%}
        {%- do alluvium._require_session_of_hudi("maintain: " ~ table.relation) -%}
        {%- do alluvium._require_clock_of_hudi("maintain", table.relation) -%}
    {%- endif -%}
    {%- set rows = alluvium._query_rows(statement) -%}
    {%- do run_query("refresh table " ~ table.relation) if table.file_format == "hudi" -%}
    {{ return(rows) }}
{% endmacro %}


{# By file format, since a project may have tables of two. #}
{% macro _compaction_sql(table) %}
    {{ return({
        "delta": "optimize " ~ table.relation,
        "hudi": "call run_clustering(table => '" ~ table.relation ~ "')",
    }[table.file_format]) }}
{% endmacro %}


{#
    The tables of some models, or of all, and the ledgers; a name that is none of theirs is refused, one
    that is not built yet is left out.
#}
{% macro _tables_to_maintain(caller_name, models) %}
    {%- do alluvium._require_texts(caller_name, "models", models, "a list of names, or none for all")
        if models is not none -%}
    {%- set relations = {} -%}
    {%- for node in graph.nodes.values()
        if node.resource_type == "model" and node.config.materialized in ["incremental", "table"]
        and node.config.file_format in ["delta", "hudi"] -%}
        {%- do relations.update({node.name: alluvium._relation_of_node(node)}) -%}
    {%- endfor -%}
    {%- for ledger in [alluvium._file_ledger(), alluvium._run_ledger(), alluvium._released_lines()] -%}
        {%- do relations.update({ledger.identifier: ledger}) -%}
    {%- endfor -%}
    {%- for name in models or [] -%}
        {% do alluvium._require_one_of(caller_name, "models", name, relations.keys() | sort) %}
    {%- endfor -%}
    {%- set wanted = [] -%}
    {%- for name in relations | sort if models is none or name in models -%}
        {%- do wanted.append(alluvium._built_table(relations[name])) -%}
    {%- endfor -%}
    {{ return(wanted | reject("none") | list) }}
{% endmacro %}


{# How many files a table has, and of how many bytes; of Hudi's those with rows that count, and no bytes. #}
{% macro _table_figures(table) %}
    {%- if table.file_format == "hudi" -%}
        {{ return(
            {
                "files": alluvium._query_rows(
                    "select count(distinct _hoodie_file_name) as files from " ~ table.relation
                )[0].files,
                "bytes": ""
            }
        ) }}
    {%- endif -%}
    {%- set detail = alluvium._query_rows("describe detail " ~ table.relation)[0] -%}
    {{ return({"files": detail.numFiles, "bytes": detail.sizeInBytes}) }}
{% endmacro %}
