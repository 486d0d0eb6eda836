{{ current_rows(ref("slv_pagila_jdbc__address_state")) }}
