{#
    How far a table has applied what it is built from, as properties of the table itself: they go with the table
    when it is dropped, replaced or restored. They are written after the merge, so they may lag after a kill and
    then the merge repeats, which changes nothing; they can never run ahead.
#}
{% macro _pending_batches(upstream) %}
    {%- if not alluvium._is_run() or flags.EMPTY -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set newest = alluvium._latest_upstream_batch(upstream) -%}
    {%- set after = alluvium._applied_batch_below(this, upstream, newest) if is_incremental() else 0 -%}
    {#- Another run has replaced the log since this model began to compile. -#}
    {%- if not after and is_incremental() and alluvium._reads_own_log(model) and alluvium._reason_to_rebuild(this) -%}
        {{ exceptions.raise_compiler_error(
            "model " ~ model.name ~ ": " ~ alluvium._reason_to_rebuild(this) ~ " while it was compiled; run it again."
        ) }}
    {%- endif -%}
    {%- do alluvium._remember("pending_batch." ~ upstream.identifier, this, newest) -%}
    {%- do alluvium._remember("pending_generation." ~ upstream.identifier, this, alluvium._generation(upstream)) -%}
    {{ return({"after": after, "until": newest}) }}
{% endmacro %}


{#
    An upstream that was built anew, or whose batches end before what was applied, is another one than that: it is taken
    whole. A state that is built anew from the same log has the same batches and may have other rows.
#}
{% macro _applied_batch_below(table, upstream, newest) %}
    {%- set applied = alluvium._applied_batch(table, upstream.identifier) -%}
    {%- set is_same =
        alluvium._table_property(
            table, "applied_generation." ~ upstream.identifier
        ) == alluvium._generation(upstream) -%}
    {{ return(applied if is_same and applied <= newest else 0) }}
{% endmacro %}


{# The bound that _pending_batches() left for this run; none for an upstream that the model did not ask about. #}
{% macro _pending_batch(upstream_identifier) %}
    {{ return(alluvium._remembered("pending_batch." ~ upstream_identifier, this)) }}
{% endmacro %}


{# Of the upstreams that the model asked about; a state asks about its change log alone. #}
{% macro _latest_pending_batch() %}
    {%- set pending = [0] -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- do pending.append(alluvium._pending_batch(graph.nodes[parent].alias) or 0) -%}
    {%- endfor -%}
    {{ return(pending | max) }}
{% endmacro %}


{#
    How far a table has applied a log that it does not read any more, since that was renamed or another one took its
    place: _latest_upstream_batch would take that for its newest batch. Before the properties of the log that it reads,
    so that a run that is killed in between gives a new generation once more.
#}
{% macro _forget_other_log(properties) %}
    {%- if alluvium._reads_own_log(model) and "applied_batch." in properties | join(" ") -%}
        {%- set names = [] -%}
        {%- for name in alluvium._table_properties(this)
            if modules.re.match("applied_(batch|generation)[.]", name) and name not in properties -%}
            {%- do names.append(name) -%}
        {%- endfor -%}
        {%- do alluvium._unset_properties(this, names) if names -%}
    {%- endif -%}
{% endmacro %}


{# Empty where the table is level with the upstream, or did not ask about it. #}
{% macro _applied_batch_properties(upstream_identifier) %}
    {%- if alluvium._is_up_to_date_with(upstream_identifier) is not false -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set properties = {
        "applied_batch." ~ upstream_identifier: alluvium._pending_batch(upstream_identifier),
        "applied_generation."
        ~ upstream_identifier: alluvium._remembered("pending_generation." ~ upstream_identifier, this),
    } -%}
    {#- A table that is built anew has no properties yet. -#}
    {%- if alluvium._generation(this) == "none" -%}
        {%- do properties.update({"generation": alluvium._run_id()}) -%}
        {%- do properties.update({"key": alluvium._remembered("key", this)}) if alluvium._remembered("key", this) -%}
        {%- set purge = alluvium._remembered("purged." ~ upstream_identifier, this) -%}
        {%- do properties.update({"purged." ~ upstream_identifier: purge}) if purge -%}
    {%- elif alluvium._reads_own_log(model)
        and "applied_batch." ~ upstream_identifier not in alluvium._table_properties(this) -%}
        {#- The log has another name than before, and other batches: marts take the table whole. -#}
        {%- do properties.update({"generation": alluvium._run_id()}) -%}
    {%- endif -%}
    {{ return(properties) }}
{% endmacro %}


{#
    Deletion vectors make a merge three to five times as fast where the rows that it replaces are scattered. They are
    not for all tables: where a table may have some, each reading looks through all of its files once more (Delta 3.3.3;
    0.28 s of processor time for 0.15 s, of a small one), and a change log or a mart that is overwritten has none. A
    model may say otherwise in its `tblproperties`.
#}
{% macro _properties_of_merged_table() %}
    {%- set name = "delta.enableDeletionVectors" -%}
    {{ return({} if alluvium._is_hudi() or name in (config.get("tblproperties") or {}) else {name: "true"}) }}
{% endmacro %}


{# Whether the table has applied what the upstream had when the model compiled; none where the model did not ask. #}
{% macro _is_up_to_date_with(upstream_identifier) %}
    {%- set pending = alluvium._pending_batch(upstream_identifier) -%}
    {%- if pending is none -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(
        pending == alluvium._applied_batch(this, upstream_identifier)
        and alluvium._remembered("pending_generation." ~ upstream_identifier, this)
        == alluvium._table_property(this, "applied_generation." ~ upstream_identifier)
    ) }}
{% endmacro %}


{#
    Whether the model asked for pending batches when it compiled, and none of its upstreams has one, nor anything else
    makes other rows.
#}
{% macro _is_up_to_date() %}
    {%- set level = [] -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
        {%- do level.append(alluvium._is_up_to_date_with(graph.nodes[parent].alias)) -%}
    {%- endfor -%}
    {{ return(
        true in level and false not in level and not alluvium._remembered_resets()
        and not alluvium._remembered("tracked_columns", this)
    ) }}
{% endmacro %}


{# Instead of a merge or an insert of no rows, which would cost a commit. #}
{% macro _nothing_to_apply_sql() -%}
    select 'nothing new' as applied
{%- endmacro %}


{% macro _has_nothing_to_apply(change_log, feed, batches, resets) %}
    {#- In this order: is_incremental() fails in a unit test. -#}
    {%- do alluvium._note_columns(feed) if alluvium._is_run() and not is_incremental() -%}
    {%- if flags.EMPTY and alluvium._is_run() and is_incremental() -%}
        {#- dbt adds columns then, too. Of the log itself: as an input it has no rows. -#}
        {%- do alluvium._apply_schema_change(
            feed, api.Relation.create(schema=change_log.schema, identifier=change_log.identifier),
            alluvium._applied_batch(this, change_log.identifier), has_news=true
        ) -%}
    {%- endif -%}
    {%- set has_news = not batches or batches.after != batches.until or resets -%}
    {{ return(
        batches and is_incremental() and alluvium._apply_schema_change(feed, change_log, batches.after, has_news)
        and not has_news
    ) }}
{% endmacro %}


{% macro _changes_of_batches(change_log, feed, batches) -%}
select *
from {{ change_log }}
where
    _cdc_kind = 'change'
    {%- if batches %}
    {%- if batches.after %}
    and _cdc_batch > {{ batches.after }}
    {%- endif %}
    and _cdc_batch <= {{ batches.until }}
    {%- endif %}
    and {{ alluvium._has_its_place(change_log, feed) }}
{%- endmacro %}
