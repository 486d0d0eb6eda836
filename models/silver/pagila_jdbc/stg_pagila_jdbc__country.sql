{{ change_log(source("pagila_jdbc", "country")) }}
