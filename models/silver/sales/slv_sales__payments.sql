{{ current_rows(ref("slv_sales__payments_state")) }}
