{#
    The merge of a history: versions by key and position. A version is none any more where a late event or a reset has
    shown that nothing began there; its row comes with a NULL `_cdc_op` (_changed_versions in this folder).
#}
{% macro _history_merge_sql(target, source, feed, columns) %}
    {{ return(alluvium._merge_sql(target, source, {
        "on": alluvium._same_key(feed, "target", "source") ~ " and target._cdc_position = source._cdc_position",
        "delete_when": "source._cdc_op is null",
        "set": alluvium._source_values(columns | reject("in", feed.key + ["_cdc_position"])),
        "insert": alluvium._source_values(columns),
    })) }}
{% endmacro %}
