with orders as (
    select exploded.document
    from {{ ref("slv_storefront__orders") }} as customers
        lateral view explode(customers.orders) exploded as document
)

select
    orders.document.guid as order_guid,
    element.place + 1 as ordinal,
    element.event.orderstatustype as status,
    timestamp_millis(cast(element.event.timestamp.`$numberLong` as bigint)) as changed_at,
    element.event.note
from orders
    lateral view posexplode(orders.document.orderstatusevents) element as place, event
