{{ current_state(ref("stg_storefront__customer_change")) }}
