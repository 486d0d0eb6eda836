{{ change_log(source("shop", "order_items")) }}
