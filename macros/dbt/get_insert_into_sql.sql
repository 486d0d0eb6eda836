{#
    dbt-spark's append strategy asks for this SQL. It names the columns, and spares a change log without new files
    the commit of an empty append. A model of another kind, in a project that has this one as a package, is dbt-spark's.
#}
{% macro get_insert_into_sql(source_relation, target_relation) %}
    {%- if not alluvium._is_log(model) -%}
        {{ return(dbt.get_insert_into_sql(source_relation, target_relation)) }}
    {%- endif -%}
    {%- if alluvium._has_no_new_files() -%}
        {{ return(alluvium._nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium._require_claimed_session("get_insert_into_sql") -%}
    {%- do alluvium._require_partitions_of_table("get_insert_into_sql", target_relation) -%}
    {{ return(
        alluvium._insert_into_sql(
            source_relation, target_relation, alluvium._same_columns(source_relation, target_relation)
        )
    ) }}
{% endmacro %}
