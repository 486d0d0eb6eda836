{#
    The pattern of a feed's `layout`, which is the name of a sink's or a pattern itself, as Spark takes it, and the
    number of each of its groups by name. Java has another word than Python for a group with a name, so the groups get
    numbers. `is_of_last_part` where it looks at nothing before the last slash of a path.
#}
{% macro _pattern_of_layout(layout) %}
    {%- set names = alluvium._sink_names() -%}
    {%- set pattern =
        names[layout].pattern if layout in names else modules.re.sub("[(][?]<(?![=!])", "(?P<", layout) -%}
    {{ return({
        "pattern": alluvium._string_literal(modules.re.sub("[(][?]P<[^>]*>", "(", pattern)),
        "groups": modules.re.compile(pattern).groupindex,
        "is_of_last_part": layout in names and "/" not in modules.re.sub("\\[\\^[^]]*\\]", "", pattern),
    }) }}
{% endmacro %}


{#
    The SQL expression of what a path says, `partition` for one; NULL where its layout has no such group. A pattern
    is tried at each character of a path, which took a sixth of the time of a log; few look at more than its end.
#}
{% macro _part_of_name(layout, group, type) %}
    {%- set found = alluvium._pattern_of_layout(layout) -%}
    {%- set text = "substring_index(file_path, '/', -1)" if found.is_of_last_part else "file_path" -%}
    {{ return(
        "try_cast(regexp_extract(" ~ text ~ ", " ~ found.pattern ~ ", " ~ found.groups[group] ~ ") as " ~ type ~ ")"
        if group in found.groups
        else "cast(null as " ~ type ~ ")"
    ) }}
{% endmacro %}


{% macro _has_last_offsets(feed) %}
    {{ return("last_offset" in alluvium._pattern_of_layout(feed.layout).groups) }}
{% endmacro %}


{% macro _require_layout(subject, feed) %}
    {%- set groups = ["topic", "partition", "offset", "last_offset"] -%}
    {%- set names = alluvium._sink_names().keys() | list -%}
    {%- set found = alluvium._pattern_of_layout(feed.layout).groups | list
        if feed.layout is string and (feed.layout in names or "(?" in feed.layout) else [] -%}
    {%- if feed.layout not in names and (
        not found or found | reject("in", groups) | list or ("offset" in found and "last_offset" in found)
    ) -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.layout", feed.layout,
            names | join(", ")
            ~ "; or a regular expression with the groups (?P<topic>...), (?P<partition>...) and (?P<offset>...), or "
            "(?P<last_offset>...), such as "
            ~ "`(?P<topic>[^/]+)/(?P<partition>[0-9]+)/(?P<offset>[0-9]+)[.]json$`",
        ) %}
    {%- endif -%}
    {%- if feed.order_by == "offset" and not feed.store_envelope and "offset" not in found
        and "last_offset" not in found -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.layout of a feed with order_by: offset", feed.layout, "one whose names have an offset"
        ) %}
    {%- endif -%}
{% endmacro %}
