{{ change_log(source("pagila", "language")) }}
