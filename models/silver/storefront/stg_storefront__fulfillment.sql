{{ change_log(source("storefront", "fulfillment")) }}
