{#
    Counts that were taken from the whole log replace those of the state; a sum of newer events is added to them, which
    would be wrong a second time. That cannot happen after a kill, since `_adds_from` sees what the state has; beside
    another run it stops the merge.
#}
{% macro _keyless_merge_sql(target, source, feed, columns, delete_policy, adds_from) -%}
    {%- set count = alluvium._unless_applied_elsewhere(
        "target._cdc_row_count + source._cdc_row_count" if adds_from else "source._cdc_row_count", adds_from
    ) -%}
    {%- set values = {"_cdc_row_count": count} -%}
    {%- do values.update(alluvium._keyless_values(feed, columns, delete_policy, adds_from)) -%}
    {{ return(alluvium._merge_sql(target, source, {
        "on": "target._cdc_row_hash = source._cdc_row_hash",
        "update_when": none if adds_from else alluvium._is_changed_count(),
        "set": values,
        "insert": alluvium._new_keyless_values(feed, columns, delete_policy),
        "unmatched_when": none if adds_from else "target._cdc_row_count <> 0",
        "set_unmatched": alluvium._values_of_unnamed_row(feed, delete_policy),
    })) }}
{%- endmacro %}


{% macro _is_changed_count() -%}
source._cdc_row_count <> target._cdc_row_count
or source._cdc_ambiguous_events <> target._cdc_ambiguous_events
or source._cdc_position <> target._cdc_position
or not source._deleted_at <=> target._deleted_at
{%- endmacro %}


{# A row that the log does not name any more was decoded in another way before the log was built anew. #}
{% macro _values_of_unnamed_row(feed, delete_policy) %}
    {%- set values = {
        "_cdc_row_count": alluvium._unless_applied_elsewhere("0", none),
        "_cdc_ambiguous_events": "0",
        "_is_deleted": "true",
        "_cdc_batch": alluvium._latest_pending_batch(),
    } -%}
    {%- for column in feed.columns if delete_policy == "hard" -%}
        {%- do values.update({column.name: "null"}) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{# What the columns of a row become that the state has; of a sum, what it is after the addition. #}
{% macro _keyless_values(feed, columns, delete_policy, adds_from) %}
    {%- set values = alluvium._source_values(columns | reject("in", ["_cdc_row_hash", "_cdc_row_count"])) -%}
    {%- if adds_from -%}
        {%- set is_gone = "target._cdc_row_count + source._cdc_row_count <= 0" -%}
        {%- do values.update({
            "_cdc_ambiguous_events": "target._cdc_ambiguous_events + source._cdc_ambiguous_events",
            "_is_deleted": is_gone,
            "_deleted_at": "if(" ~ is_gone ~ ", source._cdc_source_ts, null)",
        }) -%}
        {%- for column in feed.columns if delete_policy == "hard" -%}
            {%- do values.update({column.name: "if(" ~ is_gone ~ ", null, " ~ values[column.name] ~ ")"}) -%}
        {%- endfor -%}
    {%- else -%}
        {%- do values.update({"_cdc_batch": alluvium._latest_pending_batch()}) -%}
    {%- endif -%}
    {{ return(values) }}
{% endmacro %}


{% macro _unless_applied_elsewhere(count, adds_from) -%}
    {%- set is_level = "target._cdc_position < " ~ alluvium._string_literal(adds_from) if adds_from
        else "target._cdc_batch <= " ~ alluvium._latest_pending_batch() -%}
    if({{ is_level }}, {{ count }}, raise_error('another run has applied newer batches to this state: run again'))
{%- endmacro %}


{# A delete whose create has not come leaves no value either. #}
{% macro _new_keyless_values(feed, columns, delete_policy) %}
    {%- set emptied = feed.columns | map(attribute="name") | list if delete_policy == "hard" else [] -%}
    {%- set values = alluvium._source_values(columns) -%}
    {%- for name in columns if name in emptied -%}
        {%- do values.update({name: "if(source._is_deleted, null, " ~ values[name] ~ ")"}) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}
