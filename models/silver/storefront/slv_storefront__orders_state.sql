{# MongoDB writes `$numberLong` inside of a status event, which is no name of a field in Hudi. #}
{{ config(
    materialized="incremental",
    incremental_strategy="merge",
    file_format="delta",
    post_hook="{{ alluvium.record_applied_batches() }}",
    meta={"cdc": {"merge_guard": "_cdc_position", "delete_policy": "soft"}},
) }}

{{ current_state(ref("stg_storefront__orders")) }}
