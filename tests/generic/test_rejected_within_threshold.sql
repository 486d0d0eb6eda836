{#
    Rejected rows of a change log that are not released: a warning for any, which dbt counts, and a failure where they
    are more than `meta.cdc.quarantine` of the source allows (`_rejected_above_threshold`). The number that dbt prints
    is that of the rows.
#}
{% test rejected_within_threshold(model) %}
{{ config(
    fail_calc="coalesce(sum(rejected_count), 0)",
    warn_if="> 0",
    error_if="> 0 and coalesce(bool_or(is_above_threshold), false)",
) }}
{{ alluvium._rejected_above_threshold(model) if execute else "select 1 as not_compiled" }}
{% endtest %}
