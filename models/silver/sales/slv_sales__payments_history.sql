{{ history(ref("stg_sales__payments")) }}
