{{ rejected_rows(ref("stg_storefront__orders")) }}
