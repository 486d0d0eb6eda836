{{ rejected_rows(ref("stg_storefront__order_change")) }}
