{#
    dbt-spark's insert_overwrite strategy asks for this SQL. The property goes first, so that a run that is killed
    between the rows and the new one leaves none. A model without note_inputs, of a project that has this one as a
    package, is dbt-spark's.
#}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
    {%- if alluvium._remembered("inputs", this) is none -%}
        {{ return(dbt.get_insert_overwrite_sql(source_relation, target_relation, existing_relation)) }}
    {%- endif -%}
    {%- do alluvium._require_format_of_table("get_insert_overwrite_sql") -%}
    {%- do alluvium._require_properties_of_hudi_table("model " ~ model.name, target_relation) if alluvium._is_hudi() -%}
    {%- if alluvium._has_same_inputs() -%}
        {{ return(alluvium._nothing_to_apply_sql()) }}
    {%- endif -%}
    {%- do alluvium._require_claimed_session("get_insert_overwrite_sql") -%}
    {%- do alluvium._require_clock_of_hudi("get_insert_overwrite_sql", target_relation) if alluvium._is_hudi() -%}
    {%- do alluvium._unset_properties(target_relation, ["inputs", "rebuild_begun"]) -%}
    {{ return(alluvium._overwrite_sql(source_relation, target_relation)) }}
{% endmacro %}
