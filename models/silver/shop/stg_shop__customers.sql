{{ change_log(source("shop", "customers")) }}
