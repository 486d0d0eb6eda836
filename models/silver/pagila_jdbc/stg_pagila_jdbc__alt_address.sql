{{ change_log(source("pagila_jdbc", "alt_address")) }}
