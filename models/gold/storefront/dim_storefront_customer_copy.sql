select
    accounts._id as customer_id,
    accounts.name <=> events.name
    and accounts.contact <=> events.contact
    and accounts.addresses <=> events.addresses as is_event_current,
    accounts.name <=> orders.name
    and accounts.contact <=> orders.contact
    and accounts.addresses <=> orders.addresses as is_copy_current,
    accounts.contact.email,
    events.contact.email as email_of_event,
    orders.contact.email as email_of_copy
from {{ ref("slv_storefront__accounts") }} as accounts
left join {{ ref("slv_storefront__customer_change") }} as events on accounts._id = events.id
left join {{ ref("slv_storefront__orders") }} as orders on accounts._id = orders._id
