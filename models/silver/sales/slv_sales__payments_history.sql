{{ config(
    materialized="incremental",
    incremental_strategy="merge",
    post_hook="{{ alluvium.record_applied_batches() }}",
    meta={"cdc": {"stored_as_scd_type": 2}},
) }}

{{ scd2_from_changes(ref("stg_sales__payments")) }}
