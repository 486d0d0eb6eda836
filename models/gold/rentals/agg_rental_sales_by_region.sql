select
    coalesce(regions.region, 'Unassigned') as region,
    count(*) as orders,
    cast(sum(cast(payments.amount as decimal(10, 2))) as decimal(18, 2)) as sales
from {{ ref("slv_sales__payments") }} as payments
left join {{ ref("sales_regions") }} as regions
    on payments.country = regions.country
group by coalesce(regions.region, 'Unassigned')
