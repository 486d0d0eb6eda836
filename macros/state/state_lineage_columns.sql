{# The `_cdc_*` columns that a state row keeps of the event that made it. #}
{% macro _state_lineage_columns() %}
    {{ return([
        "_cdc_op", "_cdc_position", "_cdc_source_ts", "_cdc_transaction_id", "_cdc_kafka_partition",
        "_cdc_kafka_offset",
        "_cdc_file_path", "_cdc_line", "_cdc_batch",
    ]) }}
{% endmacro %}


{% macro _no_rows_sql() -%}
-- Every batch of the log is applied.
select *
from {{ this }}
where false
{%- endmacro %}
