{# The condition on a log's rejected line that nobody has released it; true for each where nothing was ever released. #}
{% macro _is_not_released(change_log, row) -%}
    {%- if not alluvium._has_released_lines() -%}
        {{ return("true") }}
    {%- endif -%}
not exists (
    select 1
    from {{ alluvium._released_lines() }} as released
    where {{ alluvium._is_release_of(change_log, row) | indent(4) }}
)
{%- endmacro %}


{% macro _has_released_lines() %}
    {{ return(alluvium._may_query() and load_relation(alluvium._released_lines()) is not none) }}
{% endmacro %}


{% macro _is_release_of(change_log, row) -%}
    released.{{ alluvium._is_entry_of(change_log) }}
    and released.file_path = {{ row }}._cdc_file_path
    and released.file_length = {{ row }}._cdc_file_length
    and released.line <=> {{ row }}._cdc_line
    and released.reject_reason = {{ row }}._cdc_reject_reason
{%- endmacro %}
