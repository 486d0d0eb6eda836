{{ current_rows(ref("slv_storefront__orders_state")) }}
