{#
    `+schema: gold` means the schema `gold`, not dbt's `<target schema>_gold`: the layer names are part of
    the contract that analysts and other tools read (silver.slv_shop__customers).
#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ return(custom_schema_name | trim if custom_schema_name else target.schema) }}
{%- endmacro %}
