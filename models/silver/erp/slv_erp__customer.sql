{{ current_rows(ref("slv_erp__customer_state")) }}
