{{ current_state(ref("stg_sales__payments")) }}
