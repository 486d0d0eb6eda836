{#
    dbt-spark's append strategy asks for this SQL. It names the columns, and spares a change log without new files
    the commit of an empty append. A model of another kind, in a project that has this one as a package, is dbt-spark's.
#}
{% macro get_insert_into_sql(source_relation, target_relation) %}
    {%- if not alluvium.is_log(model) -%}
        {{ return(dbt.get_insert_into_sql(source_relation, target_relation)) }}
    {%- endif -%}
    {%- if alluvium.has_no_new_files() -%}
        {{ return(alluvium.nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium.require_claimed_session("get_insert_into_sql") -%}
    {%- do alluvium.require_partitions_of_table("get_insert_into_sql", target_relation) -%}
    {{ return(alluvium.insert_into_sql(source_relation, target_relation, alluvium.same_columns(source_relation, target_relation))) }}
{% endmacro %}


{% macro insert_into_sql(source, target, columns, mode="into", selected=none) -%}
    insert {{ mode }} {{ target }} ({{ alluvium.column_list(columns) | join(", ") }})
    select {{ (selected or alluvium.column_list(columns)) | join(", ") }}
    from {{ source }}
{%- endmacro %}
