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
    document.product_id,
    document.product_name,
    document.quantity_per_unit,
    document.unit_price,
    document.units_in_stock,
    document.units_on_order,
    document.reorder_level,
    document.discontinued,
    document.category_id,
    document.category_name,
    document.description,
    document.supplier_id,
    document.company_name,
    document.contact_name,
    document.contact_title,
    document.address,
    document.city,
    document.region,
    document.postal_code,
    document.country,
    document.phone,
    document.fax,
    document.homepage
from items
