{{ rejected_rows(ref("stg_sales__payments")) }}
