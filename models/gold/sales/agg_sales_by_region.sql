select
    region,
    count(distinct order_no) as order_count,
    count(*) as item_count,
    sum(quantity) as quantity,
    cast(sum(amount) as decimal(30, 4)) as revenue
from {{ ref("fct_order_item") }}
group by region
