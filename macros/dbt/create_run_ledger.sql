{# An on-run-start hook, after create_file_ledger, which makes the schema. #}
{% macro create_run_ledger() %}
    {%- if execute and alluvium._is_run() -%}
        {%- do
            alluvium._create_ledger(alluvium._run_ledger(), alluvium._create_run_ledger_sql(alluvium._run_ledger())) -%}
    {%- endif -%}
{% endmacro %}
