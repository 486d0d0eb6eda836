{{ current_rows(ref("slv_pagila_jdbc__alt_address_state")) }}
