{{ rejected_rows(ref("stg_pagila__category")) }}
