with items as (
    select
        order_id,
        count(*) as item_count,
        sum(unit_price * quantity * (1 - discount)) as revenue
    from {{ ref("fct_northwind_order_item") }}
    group by order_id
)

select
    shipments.ship_country,
    count(*) as order_count,
    coalesce(sum(items.item_count), 0) as item_count,
    cast(coalesce(sum(items.revenue), 0) as decimal(20, 4)) as revenue,
    cast(sum(shipments.freight) as decimal(20, 2)) as freight
from {{ ref("fct_northwind_order_shipment") }} as shipments
left join items on shipments.order_id = items.order_id
group by shipments.ship_country
