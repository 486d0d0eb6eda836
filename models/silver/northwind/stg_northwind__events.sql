{{ config(
    materialized="incremental",
    incremental_strategy="append",
    post_hook="{{ alluvium.record_applied_files() }}",
) }}

{{ decode_rows(source("northwind", "events")) }}
