{{ rejected_rows(ref("stg_shop__order_items")) }}
