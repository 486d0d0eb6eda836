{{ config(
    materialized="incremental",
    incremental_strategy="merge",
    partition_by=["nationality"],
    post_hook="{{ alluvium.record_applied_batches() }}",
    meta={"cdc": {"merge_guard": "_cdc_position", "delete_policy": "soft", "empty_partition_value": "null"}},
) }}

{{ current_state(ref("stg_moma__artists")) }}
