{#
    Names of a column's text and value between the steps: apart from each other and from the record's own fields,
    whatever the source calls its columns. Columns of their own, not fields of a struct: Spark 3.5 inlines what
    makes a struct's fields into every use of them (CollapseProject), and the plan explodes.
#}
{% macro _text_of(name) %}
    {{ return(alluvium._quoted_identifier("text__" ~ name)) }}
{% endmacro %}


{% macro _value_of(name) %}
    {{ return(alluvium._quoted_identifier("value__" ~ name)) }}
{% endmacro %}
