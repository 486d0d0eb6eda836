select
    _id as customer_id,
    name.title,
    name.firstname as first_name,
    name.middlename as middle_name,
    name.lastname as last_name,
    name.suffix,
    contact.primaryphone as primary_phone,
    contact.secondaryphone as secondary_phone,
    contact.email
from {{ ref("slv_storefront__accounts") }}
