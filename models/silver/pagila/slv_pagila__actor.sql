{{ current_rows(ref("slv_pagila__actor_state")) }}
