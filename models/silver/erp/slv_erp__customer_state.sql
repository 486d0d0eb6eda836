{{ current_state(ref("stg_erp__customer")) }}
