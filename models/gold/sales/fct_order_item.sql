{{ incremental_mart(
    ["region", "order_no", "line_no"], deleted_with="slv_shop__order_items_state"
) }}

with items as (
    select * from {{ ref("slv_shop__order_items") }}
),

orders as (
    select * from {{ ref("slv_shop__orders") }}
),

products as (
    select * from {{ ref("slv_shop__products") }}
),

changed_items as (
    {{ changed_keys(ref("slv_shop__order_items_state"), ["region", "order_no", "line_no"]) }}
),

changed_orders as (
    {{ changed_keys(ref("slv_shop__orders_state"), ["region", "order_no"]) }}
),

changed_products as (
    {{ changed_keys(ref("slv_shop__products_state"), ["sku"]) }}
),

-- Items to compute again: their own row, their order or their product changed.
affected as (
    select
        region,
        order_no,
        line_no
    from changed_items
    union
    select
        items.region,
        items.order_no,
        items.line_no
    from items
    inner join changed_orders
        on items.region = changed_orders.region
        and items.order_no = changed_orders.order_no
    union
    select
        items.region,
        items.order_no,
        items.line_no
    from items
    inner join changed_products on items.sku = changed_products.sku
),

final as (
    select
        items.region,
        items.order_no,
        items.line_no,
        items.sku,
        products.title as product_title,
        orders.customer_id,
        orders.status as order_status,
        orders.placed_at as ordered_at,
        items.qty as quantity,
        items.price as unit_price,
        cast(items.qty * items.price as decimal(20, 4)) as amount
    from affected
    inner join items
        on affected.region = items.region
        and affected.order_no = items.order_no
        and affected.line_no = items.line_no
    left join orders
        on items.region = orders.region
        and items.order_no = orders.order_no
    left join products on items.sku = products.sku
)

select * from final
