{{ change_log(source("northwind", "orders")) }}
