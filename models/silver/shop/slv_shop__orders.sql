{{ current_rows(ref("slv_shop__orders_state")) }}
