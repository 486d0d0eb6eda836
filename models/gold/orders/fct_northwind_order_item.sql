with items as (
    select
        order_id,
        explode(from_json(
            order_items,
            'array<struct<
                product_id: int,
                unit_price: decimal(12,2),
                quantity: int,
                discount: decimal(4,2)
            >>'
        )) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from items
