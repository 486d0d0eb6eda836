{{ current_state(ref("stg_pagila__film")) }}
