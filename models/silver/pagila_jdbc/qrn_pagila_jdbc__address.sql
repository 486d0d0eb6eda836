{{ rejected_rows(ref("stg_pagila_jdbc__address")) }}
