with orders as (
    select
        order_id,
        from_json(
            shipper,
            '
            shipper_id int,
            company_name string,
            phone string
            '
        ) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from orders
