{{ history(ref("stg_shop__orders")) }}
