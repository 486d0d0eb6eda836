{#
    The merge of a history: versions by key and position. A version is none any more where a late event or a reset has
    shown that nothing began there; its row comes with a NULL `_cdc_op` (changed_versions in this folder).
#}
{% macro history_merge_sql(target, source, feed, columns) %}
    {{ return(adapter.dispatch("history_merge_sql", "alluvium")(target, source, feed, columns)) }}
{% endmacro %}


{% macro default__history_merge_sql(target, source, feed, columns) -%}
    merge into {{ target }} as target
    using {{ source }} as source
    on {{ alluvium.same_key(feed, "target", "source") }} and target._cdc_position = source._cdc_position
    when matched and source._cdc_op is null
        then delete
    when matched
        then update set
            {%- for name in columns if name not in feed.key + ["_cdc_position"] %}
            {%- set column = alluvium.quoted_identifier(name) %}
            {{ column }} = source.{{ column }}{{ "," if not loop.last }}
            {%- endfor %}
    when not matched
        then insert ({{ alluvium.column_list(columns) | join(", ") }})
        values ({{ alluvium.column_list(columns, "source.") | join(", ") }})
{%- endmacro %}
