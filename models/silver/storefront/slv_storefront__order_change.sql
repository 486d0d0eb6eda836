{{ current_rows(ref("slv_storefront__order_change_state")) }}
