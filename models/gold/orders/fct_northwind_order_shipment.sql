with orders as (
    select
        order_id,
        from_json(
            shipment,
            '
            freight decimal(12,2),
            ship_name string,
            ship_address string,
            ship_city string,
            ship_region string,
            ship_postal_code string,
            ship_country string
            '
        ) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from orders
