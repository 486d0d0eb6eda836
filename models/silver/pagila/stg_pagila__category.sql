{{ change_log(source("pagila", "category")) }}
