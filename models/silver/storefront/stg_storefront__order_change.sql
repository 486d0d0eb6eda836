{{ change_log(source("storefront", "order_change")) }}
