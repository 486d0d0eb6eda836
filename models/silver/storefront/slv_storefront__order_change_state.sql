{{ current_state(ref("stg_storefront__order_change")) }}
