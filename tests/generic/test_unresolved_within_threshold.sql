{#
    The threshold of `meta.cdc.unresolved` in the source's YAML: fails when more living rows of a state have a value that
    is not known, or more rows of a table without a key a count that is not, than `fail_above` allows. A source without a threshold never fails here. The number that dbt prints is
    that of the rows.
#}
{% test unresolved_within_threshold(model) %}
{{ config(fail_calc="coalesce(sum(unresolved_count), 0)") }}
{%- set threshold = alluvium.unresolved_threshold(model) if execute else none %}
select unresolved_count
from (
    select count(*) as unresolved_count
    from {{ model }}
    where {{ alluvium.is_unresolved(model) if execute else "true" }}
) as counted
where unresolved_count > {{ threshold }}
{% endtest %}
