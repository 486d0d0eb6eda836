{{ current_rows(ref("slv_northwind__orders_state")) }}
