{{ current_state(ref("stg_pagila_jdbc__alt_address")) }}
