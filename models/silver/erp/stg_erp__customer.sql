{{ change_log(source("erp", "customer")) }}
