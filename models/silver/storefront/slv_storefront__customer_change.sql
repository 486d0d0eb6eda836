{{ current_rows(ref("slv_storefront__customer_change_state")) }}
