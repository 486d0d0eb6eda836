{{ current_state(ref("stg_pagila_jdbc__query")) }}
