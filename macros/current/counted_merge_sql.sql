{#
    Counts that were taken from the whole log replace those of the state; a sum of newer events is added to them, which would be wrong a second
    time. That cannot happen after a kill, since adds_from() sees what the state has; beside another run it stops the merge.
#}
{% macro counted_merge_sql(target, source, feed, columns, delete_policy, adds_from) -%}
    {%- set count = alluvium.unless_applied_elsewhere(
        "target._cdc_row_count + source._cdc_row_count" if adds_from else "source._cdc_row_count", adds_from
    ) -%}
    {%- set values = alluvium.counted_values(feed, columns, delete_policy, adds_from) -%}
    merge into {{ target }} as target
    using {{ source }} as source
    on target._cdc_row_hash = source._cdc_row_hash
    {%- if adds_from %}
    when matched
    {%- else %}
    when matched
        and (
            source._cdc_row_count <> target._cdc_row_count
            or source._cdc_ambiguous_events <> target._cdc_ambiguous_events
            or source._cdc_position <> target._cdc_position
            or not source._deleted_at <=> target._deleted_at
        )
    {%- endif %}
        then update set
            _cdc_row_count = {{ count }},
            {%- for name, value in values.items() %}
            {{ alluvium.quoted_identifier(name) }} = {{ value }}{{ "," if not loop.last }}
            {%- endfor %}
    when not matched
        then insert ({{ alluvium.column_list(columns) | join(", ") }})
        values ({{ alluvium.new_counted_values(feed, columns, delete_policy) | join(", ") }})
    {%- if not adds_from %}
    when not matched by source
        and target._cdc_row_count <> 0
        then update set
            {{ alluvium.values_of_unnamed_row(feed, delete_policy) | join(",\n            ") }}
    {%- endif %}
{%- endmacro %}


{# A row that the log does not name any more was decoded in another way before the log was built anew. #}
{% macro values_of_unnamed_row(feed, delete_policy) %}
    {%- set values = [
        "_cdc_row_count = " ~ alluvium.unless_applied_elsewhere("0", none),
        "_cdc_ambiguous_events = 0",
        "_is_deleted = true",
        "_cdc_batch = " ~ alluvium.newest_pending_batch(),
    ] -%}
    {%- for column in feed.columns if delete_policy == "hard" -%}
        {%- do values.append(alluvium.quoted_identifier(column.name) ~ " = null") -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{# What the columns of a row become that the state has; of a sum, what it is after the addition. #}
{% macro counted_values(feed, columns, delete_policy, adds_from) %}
    {%- set values = {} -%}
    {%- for name in columns if name not in ["_cdc_row_hash", "_cdc_row_count"] -%}
        {%- do values.update({name: "source." ~ alluvium.quoted_identifier(name)}) -%}
    {%- endfor -%}
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
        {%- do values.update({"_cdc_batch": alluvium.newest_pending_batch()}) -%}
    {%- endif -%}
    {{ return(values) }}
{% endmacro %}


{% macro unless_applied_elsewhere(count, adds_from) -%}
    {%- set is_level = "target._cdc_position < " ~ alluvium.string_literal(adds_from) if adds_from
        else "target._cdc_batch <= " ~ alluvium.newest_pending_batch() -%}
    if({{ is_level }}, {{ count }}, raise_error('another run has applied newer batches to this state: run again'))
{%- endmacro %}


{# A delete whose create has not come leaves no value either. #}
{% macro new_counted_values(feed, columns, delete_policy) %}
    {%- set emptied = feed.columns | map(attribute="name") | list if delete_policy == "hard" else [] -%}
    {%- set values = [] -%}
    {%- for name in columns -%}
        {%- set value = "source." ~ alluvium.quoted_identifier(name) -%}
        {%- do values.append("if(source._is_deleted, null, " ~ value ~ ")" if name in emptied else value) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}
