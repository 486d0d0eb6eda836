{#
    How far a table has applied a change log, as a property of the table itself: it goes with the table when that
    is dropped, replaced or restored. It is written after the merge, so it may lag after a kill and then the merge
    repeats, which the position guard makes harmless; it can never run ahead.
#}
{% macro pending_batches(change_log) %}
    {%- if flags.WHICH not in ["build", "run", "retry"] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set newest = alluvium.newest_batch(change_log) -%}
    {%- set applied = alluvium.applied_batch(this) if is_incremental() else 0 -%}
    {#- A log whose batches end before what was applied is another log than the one applied: take it whole. -#}
    {%- set after = applied if applied <= newest else 0 -%}
    {#- The post-hook compiles on its own, after the merge; the session's configuration carries the bound to it. -#}
    {%- do run_query("set " ~ alluvium.applied_batch_setting() ~ " = " ~ newest) -%}
    {{ return({"after": after, "until": newest}) }}
{% endmacro %}


{% macro applied_batch_setting() %}
    {{ return("alluvium.applied_batch." ~ this.schema ~ "." ~ this.identifier) }}
{% endmacro %}


{% macro applied_batch(table) %}
    {%- for row in alluvium.query_rows("show tblproperties " ~ table) if row.key == "alluvium.applied_batch" -%}
        {{ return(row.value | int) }}
    {%- endfor -%}
    {{ return(0) }}
{% endmacro %}


{# The post-hook of every table that is merged from a change log. #}
{% macro record_applied_batch() %}
    {%- if execute -%}
        {%- for row in alluvium.query_rows("set " ~ alluvium.applied_batch_setting()) -%}
            {%- if row.value | int(0) != alluvium.applied_batch(this) -%}
                {%- do run_query("alter table " ~ this ~ " set tblproperties ('alluvium.applied_batch' = '" ~ row.value ~ "')") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
