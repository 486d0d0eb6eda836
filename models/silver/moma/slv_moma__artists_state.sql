{{ config(partition_by=["nationality"], meta={"cdc": {"empty_partition_value": "null"}}) }}

{{ current_state(ref("stg_moma__artists")) }}
