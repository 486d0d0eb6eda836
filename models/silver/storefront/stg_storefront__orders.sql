{{ change_log(source("storefront", "orders")) }}
