{{ change_log(source("pagila", "actor")) }}
