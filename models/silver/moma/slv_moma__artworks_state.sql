{{ config(partition_by=["classification"]) }}

{{ current_state(ref("stg_moma__artworks")) }}
