{{ current_rows(ref("slv_shop__customers_state")) }}
