{{ change_log(source("pagila", "film")) }}
