select
    requests._id as fulfillment_id,
    element.place + 1 as ordinal,
    requests.`order`.guid as order_guid,
    requests.shippingmethod as shipping_method,
    element.event.shippingstatustype as status,
    timestamp_millis(cast(element.event.timestamp.`$numberLong` as bigint)) as changed_at
from {{ ref("slv_storefront__fulfillment") }} as requests
    lateral view posexplode(requests.shippingstatusevents) element as place, event
