{{ current_rows(ref("slv_moma__artworks_state")) }}
