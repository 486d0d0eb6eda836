{#
    How far a table has applied what it is built from, as properties of the table itself: they go with the table
    when it is dropped, replaced or restored. They are written after the merge, so they may lag after a kill and
    then the merge repeats, which changes nothing; they can never run ahead.
#}
{% macro pending_batches(upstream) %}
    {%- if not alluvium.is_run() or flags.EMPTY -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set newest = alluvium.newest_upstream_batch(upstream) -%}
    {%- set after = alluvium.applied_batch_below(this, upstream, newest) if is_incremental() else 0 -%}
    {#- Another run has replaced the log since this model began to compile. -#}
    {%- if not after and is_incremental() and alluvium.reads_own_log(model) and alluvium.reason_to_rebuild(this) -%}
        {{ exceptions.raise_compiler_error("model " ~ model.name ~ ": " ~ alluvium.reason_to_rebuild(this) ~ " while it was compiled; run it again.") }}
    {%- endif -%}
    {%- do alluvium.remember("pending_batch." ~ upstream.identifier, this, newest) -%}
    {%- do alluvium.remember("pending_generation." ~ upstream.identifier, this, alluvium.generation(upstream)) -%}
    {{ return({"after": after, "until": newest}) }}
{% endmacro %}


{#
    An upstream that was built anew, or whose batches end before what was applied, is another one than that: it is taken
    whole. A state that is built anew from the same log has the same batches and may have other rows.
#}
{% macro applied_batch_below(table, upstream, newest) %}
    {%- set applied = alluvium.applied_batch(table, upstream.identifier) -%}
    {%- set is_same = alluvium.table_property(table, "applied_generation." ~ upstream.identifier) == alluvium.generation(upstream) -%}
    {{ return(applied if is_same and applied <= newest else 0) }}
{% endmacro %}


{# What tells a table from itself before it was built anew; of a change log also from itself before files were replayed, `none` as long as neither was. #}
{% macro generation(table) %}
    {{ return(alluvium.table_property(table, "generation")) }}
{% endmacro %}


{# The text of one of this project's properties of a table, `none` where it is not set. #}
{% macro table_property(table, name) %}
    {{ return(alluvium.table_properties(table).get(name, "none")) }}
{% endmacro %}


{# All of them by name. #}
{% macro table_properties(table) %}
    {%- set properties = {} -%}
    {%- for key, value in alluvium.properties_as_shown(table).items() if key.startswith("alluvium.") -%}
        {%- set name = alluvium.text_of_shown("table_properties", key, key[9:]) -%}
        {%- do properties.update({name: alluvium.text_of_shown("table_properties", table ~ ": " ~ name, value)}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{# Those of others, too, as Spark shows them: read once in a run, and kept as this run sets them. #}
{% macro properties_as_shown(table) %}
    {%- set known = alluvium.remembered("properties", table) -%}
    {%- if known is not none -%}
        {{ return(known) }}
    {%- endif -%}
    {%- set shown = {} -%}
    {%- for row in alluvium.query_rows("show tblproperties " ~ table) -%}
        {%- do shown.update({row.key: row.value}) -%}
    {%- endfor -%}
    {%- do alluvium.remember("properties", table, shown) if alluvium.may_query() -%}
    {{ return(shown) }}
{% endmacro %}


{% macro set_properties(table, properties, others={}) %}
    {%- do run_query(alluvium.set_properties_sql(table, properties, others)) -%}
    {%- set known = alluvium.remembered("properties", table) -%}
    {%- if known is not none -%}
        {%- do known.update(others) -%}
        {%- for name, value in properties.items() -%}
            {%- do known.update({"alluvium." ~ alluvium.shown_text(name): alluvium.shown_text(value)}) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro unset_properties(table, names) %}
    {%- do run_query(alluvium.unset_properties_sql(table, names)) -%}
    {%- do alluvium.forget_properties(table) -%}
{% endmacro %}


{% macro unset_properties_sql(table, names) %}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(alluvium.string_literal("alluvium." ~ alluvium.shown_text(name))) -%}
    {%- endfor -%}
    {{ return("alter table " ~ table ~ " unset tblproperties if exists (" ~ quoted | join(", ") ~ ")") }}
{% endmacro %}


{# They are read again. #}
{% macro forget_properties(table) %}
    {%- do alluvium.remember("properties", table, none) -%}
{% endmacro %}


{# A state says itself how far it is; a change log is asked. #}
{% macro newest_upstream_batch(upstream) %}
    {%- for name, value in alluvium.table_properties(upstream).items() if name.startswith("applied_batch.") -%}
        {{ return(value | int) }}
    {%- endfor -%}
    {{ return(alluvium.newest_batch(upstream)) }}
{% endmacro %}


{# The bound that pending_batches() left for this run; none for an upstream that the model did not ask about. #}
{% macro pending_batch(upstream_identifier) %}
    {{ return(alluvium.remembered("pending_batch." ~ upstream_identifier, this)) }}
{% endmacro %}


{# Of the upstreams that the model asked about; a state asks about its change log alone. #}
{% macro newest_pending_batch() %}
    {%- set pending = [0] -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- do pending.append(alluvium.pending_batch(graph.nodes[parent].alias) or 0) -%}
    {%- endfor -%}
    {{ return(pending | max) }}
{% endmacro %}


{% macro applied_batch(table, upstream_identifier) %}
    {{ return(alluvium.table_property(table, "applied_batch." ~ upstream_identifier) | int(0)) }}
{% endmacro %}


{# The post-hook of every table that is merged from the batches of others: one commit for all that is new. #}
{% macro record_applied_batches() %}
    {%- if execute -%}
        {%- do alluvium.resolve_moved_values() -%}
        {%- do alluvium.announce_undecided_counts() -%}
        {%- do alluvium.resolve_moved_versions() -%}
        {%- set properties = {} -%}
        {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
            {%- do properties.update(alluvium.applied_batch_properties(graph.nodes[parent].alias)) -%}
        {%- endfor -%}
        {%- do properties.update(alluvium.reset_properties(properties)) -%}
        {%- set tracked_columns = alluvium.remembered("tracked_columns", this) -%}
        {%- if tracked_columns -%}
            {#- Versions have changed without a batch: marts take the history whole. -#}
            {%- do properties.update({"generation": alluvium.run_id()}) if alluvium.table_property(this, "tracked_columns") != "none" -%}
            {%- do properties.update({"tracked_columns": tracked_columns}) -%}
        {%- endif -%}
        {%- if properties -%}
            {%- do alluvium.forget_other_log(properties) -%}
            {%- do properties.update({"declaration": alluvium.declared(alluvium.meaning_of_model()), "has_positions": "true"}) if alluvium.reads_own_log(model) -%}
            {%- do properties.update(alluvium.key_conflict_properties()) -%}
            {%- do properties.update(alluvium.commit_properties_of_hudi(this)) if alluvium.is_hudi() -%}
            {%- do alluvium.remember("is_written", this, true) -%}
            {%- do alluvium.set_properties(this, properties, alluvium.properties_of_merged_table() if properties.generation else {}) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    How far a table has applied a log that it does not read any more, since that was renamed or another one took its place: newest_upstream_batch would take that for its newest
    batch. Before the properties of the log that it reads, so that a run that is killed in between gives a new generation once more.
#}
{% macro forget_other_log(properties) %}
    {%- if alluvium.reads_own_log(model) and "applied_batch." in properties | join(" ") -%}
        {%- set names = [] -%}
        {%- for name in alluvium.table_properties(this) if modules.re.match("applied_(batch|generation)[.]", name) and name not in properties -%}
            {%- do names.append(name) -%}
        {%- endfor -%}
        {%- do alluvium.unset_properties(this, names) if names -%}
    {%- endif -%}
{% endmacro %}


{# Empty where the table is level with the upstream, or did not ask about it. #}
{% macro applied_batch_properties(upstream_identifier) %}
    {%- if alluvium.is_level_with(upstream_identifier) is not false -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set properties = {
        "applied_batch." ~ upstream_identifier: alluvium.pending_batch(upstream_identifier),
        "applied_generation." ~ upstream_identifier: alluvium.remembered("pending_generation." ~ upstream_identifier, this),
    } -%}
    {#- A table that is built anew has no properties yet. -#}
    {%- if alluvium.generation(this) == "none" -%}
        {%- do properties.update({"generation": alluvium.run_id()}) -%}
        {%- do properties.update({"key": alluvium.remembered("key", this)}) if alluvium.remembered("key", this) -%}
        {%- set purge = alluvium.remembered("purged." ~ upstream_identifier, this) -%}
        {%- do properties.update({"purged." ~ upstream_identifier: purge}) if purge -%}
    {%- elif alluvium.reads_own_log(model) and "applied_batch." ~ upstream_identifier not in alluvium.table_properties(this) -%}
        {#- The log has another name than before, and other batches: marts take the table whole. -#}
        {%- do properties.update({"generation": alluvium.run_id()}) -%}
    {%- endif -%}
    {{ return(properties) }}
{% endmacro %}


{#
    Deletion vectors make a merge three to five times as fast where the rows that it replaces are scattered. They are not for all tables: where a table may
    have some, each reading looks through all of its files once more (Delta 3.3.3; 0.28 s of processor time for 0.15 s, of a small one), and a change log
    or a mart that is overwritten has none. A model may say otherwise in its `tblproperties`.
#}
{% macro properties_of_merged_table() %}
    {%- set name = "delta.enableDeletionVectors" -%}
    {{ return({} if alluvium.is_hudi() or name in (config.get("tblproperties") or {}) else {name: "true"}) }}
{% endmacro %}


{% macro set_properties_sql(table, properties, others={}) -%}
    alter table {{ table }} set tblproperties (
        {%- for name, value in properties.items() -%}
        'alluvium.{{ alluvium.shown_text(name) }}' = '{{ alluvium.shown_text(value) }}'{{ ", " if not loop.last }}
        {%- endfor -%}
        {%- for name, value in others.items() -%}
        , '{{ name }}' = '{{ value }}'
        {%- endfor -%}
    )
{%- endmacro %}


{# Whether the table has applied what the upstream had when the model compiled; none where the model did not ask. #}
{% macro is_level_with(upstream_identifier) %}
    {%- set pending = alluvium.pending_batch(upstream_identifier) -%}
    {%- if pending is none -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(
        pending == alluvium.applied_batch(this, upstream_identifier)
        and alluvium.remembered("pending_generation." ~ upstream_identifier, this)
        == alluvium.table_property(this, "applied_generation." ~ upstream_identifier)
    ) }}
{% endmacro %}


{# Whether the model asked for pending batches when it compiled, and none of its upstreams has one, nor anything else makes other rows. #}
{% macro is_level_with_upstreams() %}
    {%- set level = [] -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- do level.append(alluvium.is_level_with(graph.nodes[parent].alias)) -%}
    {%- endfor -%}
    {{ return(true in level and false not in level and not alluvium.remembered_resets() and not alluvium.remembered("tracked_columns", this)) }}
{% endmacro %}


{# Instead of a merge or an insert of no rows, which would cost a commit. #}
{% macro nothing_to_apply_sql() -%}
    select 'nothing new' as applied
{%- endmacro %}
