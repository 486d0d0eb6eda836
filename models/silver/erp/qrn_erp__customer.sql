{{ rejected_rows(ref("stg_erp__customer")) }}
