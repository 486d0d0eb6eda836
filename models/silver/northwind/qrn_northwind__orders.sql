{{ rejected_rows(ref("stg_northwind__orders")) }}
