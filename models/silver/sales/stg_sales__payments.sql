{{ change_log(source("sales", "payments")) }}
