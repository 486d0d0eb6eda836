{{ current_state(ref("stg_shop__order_items")) }}
