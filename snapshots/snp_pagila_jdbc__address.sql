{% snapshot snp_pagila_jdbc__address %}

{{ config(
    schema="silver",
    file_format="delta",
    unique_key="address_id",
    strategy="timestamp",
    updated_at="last_update",
    hard_deletes="invalidate",
) }}

select
    address_id,
    address,
    address2,
    district,
    city_id,
    postal_code,
    phone,
    last_update
from {{ ref("slv_pagila_jdbc__address") }}

{% endsnapshot %}
