{{ rejected_rows(ref("stg_moma__artworks")) }}
