{{ current_state(ref("stg_storefront__accounts")) }}
