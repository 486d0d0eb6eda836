{{ rejected_rows(ref("stg_shop__orders")) }}
