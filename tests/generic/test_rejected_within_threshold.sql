{#
    The threshold of `meta.cdc.quarantine` in the source's YAML: fails when more rows of the change log are rejected
    than `fail_above` allows. A source without a threshold never fails here; its rejected rows are counted in the
    ledger and shown at the end of a demo run.
#}
{% test rejected_within_threshold(model) %}
{%- set threshold = alluvium.rejected_threshold(model) if execute else none %}
select rejected_count
from (
    select count(*) as rejected_count
    from {{ model }}
    where _cdc_reject_reason is not null
) as counted
where rejected_count > {{ threshold if threshold is not none else "cast('Infinity' as double)" }}
{% endtest %}
