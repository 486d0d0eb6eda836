{{ current_rows(ref("slv_pagila_jdbc__query_state")) }}
