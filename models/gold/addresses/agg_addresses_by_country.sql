select
    country_id,
    country,
    count(distinct city_id) as city_count,
    count(*) as address_count
from {{ ref("dim_address") }}
group by country_id, country
