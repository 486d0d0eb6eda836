{{ change_log(source("moma", "artists")) }}
