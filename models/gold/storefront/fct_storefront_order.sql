with orders as (
    select
        customers._id as customer_id,
        element.place + 1 as ordinal,
        element.document.guid as order_guid
    from {{ ref("slv_storefront__orders") }} as customers
        lateral view posexplode(customers.orders) element as place, document
),

statuses as (
    select
        order_guid,
        min_by(changed_at, ordinal) as created_at,
        max_by(status, ordinal) as status,
        max_by(changed_at, ordinal) as status_changed_at
    from {{ ref("fct_storefront_order_status") }}
    group by order_guid
),

items as (
    select
        order_guid,
        count(*) as item_count,
        cast(sum(amount) as decimal(20, 2)) as amount
    from {{ ref("fct_storefront_order_item") }}
    group by order_guid
)

select
    orders.order_guid,
    orders.customer_id,
    orders.ordinal,
    statuses.created_at,
    statuses.status,
    statuses.status_changed_at,
    events.orderstatusevent.orderstatustype as told_status,
    coalesce(items.item_count, 0) as item_count,
    coalesce(items.amount, 0) as amount
from orders
left join statuses on orders.order_guid = statuses.order_guid
left join items on orders.order_guid = items.order_guid
left join {{ ref("slv_storefront__order_change") }} as events on orders.order_guid = events.guid
