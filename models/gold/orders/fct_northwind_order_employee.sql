with orders as (
    select
        order_id,
        from_json(
            employee,
            '
            employee_id int,
            last_name string,
            first_name string,
            title string,
            title_of_courtesy string,
            birth_date date,
            hire_date date,
            address string,
            city string,
            region string,
            postal_code string,
            country string,
            home_phone string,
            extension string,
            notes string,
            reports_to int,
            photo_path string,
            territories array<struct<
                territory_id: string,
                territory_description: string,
                region_id: int,
                region_description: string
            >>
            '
        ) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from orders
