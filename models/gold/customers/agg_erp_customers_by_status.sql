select
    coalesce(status, 'unknown') as status,
    count(*) as customer_count,
    cast(coalesce(sum(balance), 0) as decimal(30, 4)) as balance
from {{ ref("slv_erp__customer") }}
group by coalesce(status, 'unknown')
