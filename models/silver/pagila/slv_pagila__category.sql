{{ current_rows(ref("slv_pagila__category_state")) }}
