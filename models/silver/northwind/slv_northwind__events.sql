{{ current_rows(ref("slv_northwind__events_state")) }}
