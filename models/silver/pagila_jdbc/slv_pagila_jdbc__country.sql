{{ current_rows(ref("slv_pagila_jdbc__country_state")) }}
