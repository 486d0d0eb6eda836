with orders as (
    select
        order_id,
        from_json(
            customer,
            '
            customer_id string,
            company_name string,
            contact_name string,
            contact_title string,
            address string,
            city string,
            region string,
            postal_code string,
            country string,
            phone string,
            fax string
            '
        ) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from orders
