{{ current_state(ref("stg_shop__customers")) }}
