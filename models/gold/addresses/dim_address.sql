select
    address.address_id,
    address.address,
    address.address2,
    address.district,
    address.postal_code,
    address.phone,
    city.city_id,
    city.city,
    country.country_id,
    country.country,
    address.last_update
from {{ ref("slv_pagila_jdbc__address") }} as address
inner join {{ ref("slv_pagila_jdbc__city") }} as city on address.city_id = city.city_id
inner join {{ ref("slv_pagila_jdbc__country") }} as country on city.country_id = country.country_id
