{# MongoDB writes `$numberLong` inside of a status event, which is no name of a field in Hudi. #}
{{ config(file_format="delta") }}

{{ current_state(ref("stg_storefront__fulfillment")) }}
