-- The three tables, joined here, are the rows that the third connector had joined in the database.
-- A row that one side alone has, and which side.
with joined_here as (
    select
        address_id,
        address,
        address2,
        city,
        district,
        postal_code,
        country,
        phone,
        last_update
    from {{ ref("dim_address") }}
),

joined_there as (
    select
        address_id,
        address,
        address2,
        city,
        state_province as district,
        postal_code,
        country,
        phone,
        last_update
    from {{ ref("slv_pagila_jdbc__query") }}
),

only_here as (
    select * from joined_here
    except
    select * from joined_there
),

only_there as (
    select * from joined_there
    except
    select * from joined_here
)

select
    *,
    'here' as side
from only_here
union all
select
    *,
    'there' as side
from only_there
