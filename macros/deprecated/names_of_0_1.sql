{# Names of 0.1, which go in 0.3. #}
{% macro decode_debezium(source_relation) %}
    {%- do alluvium._warn_of_old_name("decode_debezium", "change_log") -%}
    {{ return(alluvium.change_log(source_relation)) }}
{% endmacro %}


{% macro decode_rows(source_relation) %}
    {%- do alluvium._warn_of_old_name("decode_rows", "change_log") -%}
    {{ return(alluvium.change_log(source_relation)) }}
{% endmacro %}


{% macro living_rows(state) %}
    {%- do alluvium._warn_of_old_name("living_rows", "current_rows") -%}
    {{ return(alluvium.current_rows(state)) }}
{% endmacro %}


{% macro scd2_from_changes(
    change_log, track_history_column_list=none, track_history_except_column_list=none, collapse_unchanged=true,
    snapshotted_with=[]
) %}
    {%- do alluvium._warn_of_old_name("scd2_from_changes", "history") -%}
    {{ return(
        alluvium.history(
            change_log, track_history_column_list, track_history_except_column_list, collapse_unchanged,
            snapshotted_with
        )
    ) }}
{% endmacro %}


{% macro _warn_of_old_name(old, new) %}
    {%- do alluvium._warn(
        model.name ~ ": " ~ old ~ " is called " ~ new
        ~ " now, and the model needs no config() for it; the old name goes in 0.3"
    ) if execute -%}
{% endmacro %}
