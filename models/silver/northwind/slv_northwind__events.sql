{{ living_rows(ref("slv_northwind__events_state")) }}
