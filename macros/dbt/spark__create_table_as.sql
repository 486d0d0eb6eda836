{#
    dbt-spark asks for the SQL that makes a table. It drops what is there before (1.11); of Hudi's tables the old one
    stays until the new one is complete, and a table that is there is complete whatever was killed.
#}
{% macro spark__create_table_as(temporary, relation, compiled_code, language="sql") %}
    {%- set sql = alluvium._create_table_as_sql(temporary, relation, compiled_code, language) -%}
    {#- The table that it makes has none of those of the one before. -#}
    {%- do alluvium._forget_properties(relation) if not temporary -%}
    {{ return(sql) }}
{% endmacro %}


{# dbt-spark drops a table that is to be built anew, unless it is Delta's and stays so. #}
{% macro spark__drop_relation(relation) -%}
    {%- if alluvium._remembered("is_replaced", relation) -%}
        {{ return("") }}
    {%- endif -%}
    {{ return(dbt.spark__drop_relation(relation)) }}
{%- endmacro %}
