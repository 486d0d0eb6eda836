select
    id as customer_id,
    name as customer_name,
    email,
    active as is_active,
    balance,
    mood,
    created_at
from {{ ref("slv_shop__customers") }}
