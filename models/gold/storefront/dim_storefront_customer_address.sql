select
    customers._id as customer_id,
    element.place + 1 as ordinal,
    element.address.type as address_type,
    element.address.description,
    element.address.address1,
    element.address.address2,
    element.address.city,
    element.address.state,
    element.address.postalcode as postal_code
from {{ ref("slv_storefront__accounts") }} as customers
    lateral view posexplode(customers.addresses) element as place, address
