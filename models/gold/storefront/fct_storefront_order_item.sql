with orders as (
    select
        customers._id as customer_id,
        exploded.document
    from {{ ref("slv_storefront__orders") }} as customers
        lateral view explode(customers.orders) exploded as document
),

items as (
    select
        orders.customer_id,
        orders.document.guid as order_guid,
        element.place + 1 as ordinal,
        element.item.product,
        cast(element.item.product.price as decimal(10, 2)) as unit_price,
        element.item.quantity
    from orders
        lateral view posexplode(orders.document.orderitems) element as place, item
)

select
    order_guid,
    ordinal,
    customer_id,
    product.guid as product_guid,
    product.title as product_title,
    unit_price,
    quantity,
    cast(unit_price * quantity as decimal(20, 2)) as amount
from items
