{#
    The keys of the events to apply as a range of numbers: Delta skips the files of a table that hold none of them,
    which are most of them where the newest rows change. A row whose key is NULL lies in no range.
#}
{% macro _has_number_as_key(feed) %}
    {%- if not feed.key -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set column = alluvium._column_of(feed, feed.key[0]) -%}
    {{ return(
        not column.cdc.nullable
        and alluvium._base_type(column.data_type) in ["tinyint", "smallint", "int", "bigint"]
    ) }}
{% endmacro %}


{% macro _key_as_number(feed) %}
    {{ return(
        alluvium._quoted_identifier(feed.key[0]) if alluvium._has_number_as_key(feed) else "cast(null as bigint)"
    ) }}
{% endmacro %}


{# Empty where no range is known. `key_range` has `lowest_key` and `highest_key`. #}
{% macro _has_key_within(feed, key_range, row="") %}
    {{ return(
        row ~ alluvium._quoted_identifier(feed.key[0]) ~ " between " ~ key_range.lowest_key ~ " and "
        ~ key_range.highest_key
        if alluvium._has_number_as_key(feed) and key_range.lowest_key is not none else ""
    ) }}
{% endmacro %}


{#
    The condition of a merge. Where keys are contested, it brings rows of other keys than those of its events, too
    (_changes_with_past in this folder).
#}
{% macro _is_merged_on(feed) %}
    {%- set key_range = alluvium._remembered("key_range", this) -%}
    {%- set is_exact = key_range and not alluvium._has_reused_keys(feed) -%}
    {%- set conditions = [
        alluvium._same_key(feed, "target", "source"),
        alluvium._has_key_within(feed, key_range, "target.") if is_exact else "",
    ] -%}
    {{ return(conditions | select | join(" and ")) }}
{% endmacro %}
