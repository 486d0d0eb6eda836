{{ current_rows(ref("slv_shop__products_state")) }}
