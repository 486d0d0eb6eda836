{#
    The rejected rows of a change log, with why and where. The whole body of a qrn_ model:
    {{ rejected_rows(ref('stg_shop__orders')) }}
#}
{% macro rejected_rows(change_log) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("rejected_rows") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium._require_options_of_model("rejected_rows") -%}
    {%- do alluvium._require_kind_of_input(
        "rejected_rows", "change_log", change_log, ["change_log", "complete_change_log"]
    ) -%}
    {{ return(alluvium._whole_body(alluvium._rejected_rows_sql(change_log))) }}
{% endmacro %}


{% macro _rejected_rows_sql(change_log) -%}
select
    _cdc_reject_reason,
    _cdc_reject_detail,
    _cdc_raw,
    _cdc_file_path,
    _cdc_file_length,
    _cdc_file_modified_at,
    _cdc_line,
    _cdc_kafka_partition,
    _cdc_kafka_offset,
    _cdc_file_offset,
    _cdc_batch
from {{ change_log }}
-- A log file without a rejected row is skipped on its statistics.
where _cdc_reject_reason is not null
{%- endmacro %}
