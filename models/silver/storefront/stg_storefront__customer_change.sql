{{ change_log(source("storefront", "customer_change")) }}
