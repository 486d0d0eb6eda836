{{ living_rows(ref("slv_storefront__accounts_state")) }}
