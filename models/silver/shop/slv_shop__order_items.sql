{{ current_rows(ref("slv_shop__order_items_state")) }}
