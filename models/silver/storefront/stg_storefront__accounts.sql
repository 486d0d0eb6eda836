{{ change_log(source("storefront", "accounts")) }}
