{{ current_rows(ref("slv_moma__artists_state")) }}
