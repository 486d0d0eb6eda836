with items as (
    select
        order_id,
        explode(from_json(
            products,
            'array<struct<
                product_id: int,
                product_name: string,
                quantity_per_unit: string,
                unit_price: decimal(12,2),
                units_in_stock: int,
                units_on_order: int,
                reorder_level: int,
                discontinued: int,
                category_id: int,
                category_name: string,
                description: string,
                supplier_id: int,
                company_name: string,
                contact_name: string,
                contact_title: string,
                address: string,
                city: string,
                region: string,
                postal_code: string,
                country: string,
                phone: string,
                fax: string,
                homepage: string
            >>'
        )) as document
    from {{ ref("slv_northwind__orders") }}
)

select
    order_id,
    document.*
from items
