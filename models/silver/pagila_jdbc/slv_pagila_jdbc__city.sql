{{ current_rows(ref("slv_pagila_jdbc__city_state")) }}
