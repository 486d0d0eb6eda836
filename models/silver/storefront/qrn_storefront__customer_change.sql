{{ rejected_rows(ref("stg_storefront__customer_change")) }}
