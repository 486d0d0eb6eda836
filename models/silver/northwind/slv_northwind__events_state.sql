{{ current_state(ref("stg_northwind__events")) }}
