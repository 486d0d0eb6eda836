{{ current_rows(ref("slv_pagila__film_category_state")) }}
