{# What of the table applies to a feed. _feed_of_source keeps it: a merge of a wide table asks for each column. #}
{% macro _unavailable_values_of(feed) %}
    {%- if feed.unavailable_values is defined -%}
        {{ return(feed.unavailable_values) }}
    {%- endif -%}
    {%- set rules = alluvium._unavailable_values() -%}
    {%- set placeholder = rules.placeholders.get(feed.connector) if feed.shape != "row" else none -%}
    {%- set references, types = [], [] + (placeholder or {}).get("types", []) -%}
    {%- for reference in rules.references if feed.shape != "row" and feed.connector in reference.connectors -%}
        {%- do references.append(reference) -%}
        {%- do types.extend(reference.types) -%}
    {%- endfor -%}
    {{ return({"placeholder": placeholder, "references": references, "types": types | unique | list}) }}
{% endmacro %}


{% macro _bytes_of_placeholder(placeholder) %}
    {{ return(
        "".encode().fromhex(placeholder[4:]) if placeholder.startswith("hex:") else placeholder.encode("utf-8")
    ) }}
{% endmacro %}


{#
    Whether any event of a feed may lack a value that its row has; without a key such an event is rejected
    (_missing_values).
#}
{% macro _has_unavailable_values(feed) %}
    {{ return(feed.key | length > 0 and alluvium._unavailable_values_of(feed).types | length > 0) }}
{% endmacro %}


{# By its type, or one of rows whose NULLs are declared to change nothing. A column of the key never is. #}
{% macro _may_be_unavailable(column, feed) %}
    {%- if feed.shape == "row" -%}
        {{ return(column.name in (feed.ignored_null_columns or [])) }}
    {%- endif -%}
    {{ return(
        alluvium._has_unavailable_values(feed)
        and column.name not in feed.key
        and alluvium._base_type(column.data_type) in alluvium._unavailable_values_of(feed).types
    ) }}
{% endmacro %}
