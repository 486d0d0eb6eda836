{{ change_log(source("pagila", "film_category")) }}
