{# The sign, then the digits; of a negative number their nines' complement, so that the smaller one sorts first. #}
{% macro _sortable_number(value, width) -%}
    if(
            {{ value }} < 0,
            concat(
                '0',
                translate(
                    lpad(substring(cast({{ value }} as string), 2), {{ width }}, '0'), '0123456789', '9876543210'
                )
            ),
            concat('1', lpad({{ value }}, {{ width }}, '0'))
        )
{%- endmacro %}


{# Hexadecimal digits sort as the bytes do, and above the dot that ends them. #}
{% macro _sortable_text(column, value) %}
    {%- if column.data_type == "string" -%}
        {{ return("hex(" ~ value ~ ")") }}
    {%- elif column.data_type.startswith("decimal") -%}
        {{ return(alluvium._sortable_decimal(column, value)) }}
    {%- endif -%}
    {{ return(alluvium._sortable_number(alluvium._whole_number(column, value), 19)) }}
{% endmacro %}


{#
    The digits before and after the point; one further from zero than the value has no exponent, which Spark (3.5.7)
    gives the text of a decimal as small as 0.0000001. Not abs(): of a number of more than 34 digits it is rounded in
    Spark 4.0.2, as `-` is.
#}
{% macro _sortable_decimal(column, value) %}
    {%- set width = alluvium._decimal_precision(column.data_type) + 1 -%}
    {%- set digits =
        "lpad(translate(cast(if({0} < 0, {0} - 1, {0} + 1) as string), '-.', ''), {1}, '0')".format(value, width) -%}
    {{ return(
        "if(" ~ value ~ " < 0, concat('0', translate(" ~ digits ~ ", '0123456789', '9876543210')), concat('1', "
        ~ digits ~ "))"
    ) }}
{% endmacro %}


{# Of the text that _sortable_text gives. #}
{% macro _sortable_width(column) %}
    {{ return(alluvium._decimal_precision(column.data_type) + 2 if column.data_type.startswith("decimal") else 20) }}
{% endmacro %}
