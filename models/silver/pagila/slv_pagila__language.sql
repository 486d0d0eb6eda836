{{ current_rows(ref("slv_pagila__language_state")) }}
