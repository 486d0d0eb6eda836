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
