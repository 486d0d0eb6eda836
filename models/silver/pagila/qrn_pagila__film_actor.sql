{{ rejected_rows(ref("stg_pagila__film_actor")) }}
