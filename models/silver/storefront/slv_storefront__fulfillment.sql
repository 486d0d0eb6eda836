{{ living_rows(ref("slv_storefront__fulfillment_state")) }}
