{#
    The threshold of `meta.cdc.unresolved` in the source's YAML: fails when more living rows of a state have a value
    that is not known, or more rows of a table without a key a count that is not, than `fail_above` allows. A source
    without a threshold never fails here. The number that dbt prints is that of the rows.
#}
{% test unresolved_within_threshold(model) %}
{{ config(fail_calc="coalesce(sum(unresolved_count), 0)") }}
{{ alluvium._unresolved_above_threshold(model) if execute else "select 1 as not_compiled" }}
{% endtest %}
