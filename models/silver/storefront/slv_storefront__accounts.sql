{{ current_rows(ref("slv_storefront__accounts_state")) }}
