{#
    Makes a model one of a kind while dbt parses it (dbt-core 1.11: `config()` works from inside a macro then). What the
    model or a folder sets stays as it is. The kind is recorded as `meta.alluvium_model`: dbt merges `meta` one level
    deep, so that a `meta.cdc` from here would take the user's place. A test and a snapshot that call the macro of a
    view stay what they are, and so does a mart.
#}
{% macro _set_model(kind) %}
    {%- if model.resource_type in ["test", "snapshot"] -%}
        {{ return("") }}
    {%- endif -%}
    {%- set given = config.context_config.build_config_dict(rendered=false) -%}
    {#- With defaults; and with what all levels say of hooks and of meta, where `given` has the last of them alone. -#}
    {%- set merged = config.context_config.build_config_dict() -%}
    {#- The folder of marts has the settings of those that are computed whole. -#}
    {%- set is_in_marts = (merged.get("meta") or {}).get("alluvium_model") == "mart" -%}
    {%- if is_in_marts and kind in ["current_rows", "rejected_rows"] -%}
        {{ return("") }}
    {%- endif -%}
    {%- set before = (merged.get("meta") or {}).get("alluvium_model") -%}
    {%- if before in alluvium._kinds_of_models() and kind not in ["current_rows", "rejected_rows"] -%}
        {{ exceptions.raise_compiler_error(
            "model " ~ model.name ~ " calls two macros that each make a model (" ~ before ~ ", " ~ kind
            ~ "). Write two models."
        ) }}
    {%- endif -%}
    {%- for name, value in alluvium._kinds_of_models()[kind].items() -%}
        {%- if name == "post-hook" -%}
            {#- Models that were written for 0.1 have the hook themselves. -#}
            {%- do config({name: value}) if value.split("(")[0] not in merged.get(name, "") | string -%}
        {#- A macro of the user's may have set it: `given` has not heard of that with dbt's flag
            state_modified_compare_more_unrendered_values (1.11). -#}
        {%- elif is_in_marts or name not in given and merged.get(name) in [none, "view"] -%}
            {%- do config({name: value}) -%}
        {%- endif -%}
    {%- endfor -%}
    {#-
        Whatever the folder says: the newest batch of a log is asked for in every run, which Delta answers without
        reading rows.
    -#}
    {%- do config(file_format="delta") if kind in ["change_log", "complete_change_log"] -%}
    {%- do config(meta={"alluvium_model": kind}) -%}
{% endmacro %}


{#
    What a model is whose body is one macro, with the settings that make it one. Hooks are here and in no model:
    dbt-spark's materializations call them. Current and rejected rows are views as any model of dbt's is: said here, it
    would hide what the model's YAML says.
#}
{% macro _kinds_of_models() %}
    {%- set log = {"materialized": "incremental", "incremental_strategy": "append"} -%}
    {%- set merged = {
        "materialized": "incremental",
        "incremental_strategy": "merge",
        "post-hook": "{{ alluvium.record_applied_batches() }}",
    } -%}
    {{ return({
        "change_log": dict(log, **{"post-hook": "{{ alluvium.record_applied_files() }}"}),
        "complete_change_log": dict(log, **{"post-hook": "{{ alluvium.record_cut() }}"}),
        "transaction_status": dict(merged, unique_key="transaction_id"),
        "state": merged,
        "history": merged,
        "current_rows": {},
        "rejected_rows": {},
        "incremental_mart": merged,
    }) }}
{% endmacro %}
