{{ current_rows(ref("slv_pagila__film_actor_state")) }}
