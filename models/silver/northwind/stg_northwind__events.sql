{{ change_log(source("northwind", "events")) }}
