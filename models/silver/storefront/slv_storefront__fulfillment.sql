{{ current_rows(ref("slv_storefront__fulfillment_state")) }}
