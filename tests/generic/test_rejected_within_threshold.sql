{#
    The threshold of `meta.cdc.quarantine` in the source's YAML: fails when more rows of the change log are rejected, and not released,
    than `fail_above` allows, and with any threshold when lines are rejected and not one could be decoded: then the
    feed is not what its declaration says. The number that dbt prints is that of the rejected rows.
#}
{% test rejected_within_threshold(model) %}
{{ config(fail_calc="coalesce(sum(rejected_count), 0)") }}
{%- set threshold = alluvium.rejected_threshold(model) if execute else none %}
select rejected_count
from (
    select count(*) as rejected_count
    from {{ model }} as rejected
    where
        rejected._cdc_reject_reason is not null
        and {{ alluvium.is_not_released(model, "rejected") | indent(8) }}
) as counted
where
    rejected_count > {{ threshold }}
    or (
        rejected_count > 0
        and not exists (select 1 from {{ model }} where _cdc_kind in ('change', 'truncate', 'purged'))
    )
{% endtest %}
