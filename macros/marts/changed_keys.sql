{#
    The keys of a state that changed since the model last read it, deleted ones among them: what an incremental mart has
    to compute again. Of a history, too, where a key may be named several times: a mart that needs what a row was takes
    the history alone, since a run may find it behind the state. Every key when the model is built anew, and in Hudi,
    where such a mart is computed whole: dbt-spark's merge would need the mart's key as Hudi's record key, which takes
    two keys for one (_keyed_rows). {{ changed_keys(ref('slv_shop__orders_state'), ['region', 'order_no']) }}
#}
{% macro changed_keys(state, key) %}
    {%- if not execute -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- if not key or key is string -%}
        {% do alluvium._raise_invalid("changed_keys", "key", key, "a list of at least one column") %}
    {%- endif -%}
    {%- do alluvium._require_kind_of_input("changed_keys", "state", state, ["state", "history"]) -%}
    {%- do alluvium._require_incremental_mart("changed_keys") if alluvium._is_run() -%}
    {%- do alluvium._require_hudi("changed_keys: model " ~ model.name) if alluvium._is_hudi() -%}
    {%- do alluvium._require_no_purged_rows(state) -%}
    {%- set batches = alluvium._pending_batches(state) -%}
    {{ return(alluvium._changed_keys_sql(state, key, none if alluvium._is_hudi() else batches)) }}
{% endmacro %}


{# Without it a run would merge on NULL keys and keep what a state that was built anew does not have. #}
{% macro _require_incremental_mart(caller_name) %}
    {%- if config.get("materialized") == "incremental" and alluvium._kind_of_model(model) != "incremental_mart" -%}
        {{ exceptions.raise_compiler_error(
            caller_name ~ ": model " ~ model.name ~ " does not begin with incremental_mart. Put `{{ "
            ~ ("" if project_name == "alluvium" else "alluvium.") ~ "incremental_mart([its unique key]) }}` at its "
            ~ "top, and delete materialized, incremental_strategy, unique_key and the hooks of Alluvium from its "
            ~ "config()"
        ) }}
    {%- endif -%}
{% endmacro %}


{# A key that was purged (purge_rows) is in no table any more, so that nothing says which rows of the mart it made. #}
{% macro _require_no_purged_rows(state) %}
    {%- set purge = alluvium._table_property(state, "purged") if alluvium._is_run() and not flags.EMPTY else "none" -%}
    {%- if purge != "none" -%}
        {%- if is_incremental() and alluvium._table_property(this, "purged." ~ state.identifier) != purge -%}
            {% do alluvium._raise_invalid(
                "changed_keys: model " ~ model.name, "purge of " ~ state, purge,
                "one that " ~ this ~ " was built after: it may hold rows of purged keys, and needs "
                ~ alluvium._rebuild_command(this)
            ) %}
        {%- endif -%}
        {%- do alluvium._remember("purged." ~ state.identifier, this, purge) -%}
    {%- endif -%}
{% endmacro %}


{% macro _changed_keys_sql(state, key, batches) -%}
select {{ alluvium._column_list(key) | join(", ") }}
from {{ state }}
{%- if batches %}
where _cdc_batch > {{ batches.after }}
{%- endif %}
{%- endmacro %}


{#
    The pre-hook of an incremental mart: takes out the rows whose key was deleted in a state since the mart last read
    it. dbt's merge has no delete. Nothing in Hudi, where the mart is computed whole; one that dbt-spark would merge
    there is refused, since it would keep those rows.
#}
{% macro delete_vanished_keys(state, key) %}
    {%- do alluvium._require_kind_of_input("incremental_mart", "deleted_with", state, ["state"]) if execute -%}
    {%- do alluvium._require_one_of(
        "delete_vanished_keys: model " ~ model.name, "file_format", config.get("file_format"), ["delta", "hudi"]
    ) if execute -%}
    {%- if execute and alluvium._is_hudi() and config.get("materialized") == "incremental" -%}
        {%- do alluvium._require_incremental("delete_vanished_keys", "merge") -%}
    {%- elif execute and is_incremental() and not flags.EMPTY -%}
        {%- set newest = alluvium._latest_upstream_batch(state) -%}
        {%- set after = alluvium._applied_batch_below(this, state, newest) -%}
        {%- if after < newest -%}
            {%- do run_query(alluvium._delete_vanished_keys_sql(this, state, key, after)) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _delete_vanished_keys_sql(target, state, key, after) -%}
    merge into {{ target }} as target
    using (
        select {{ alluvium._column_list(key) | join(", ") }}
        from {{ state }}
        where
            _is_deleted
            and _cdc_batch > {{ after }}
    ) as vanished
    on
        {%- for name in key %}
        {{ "and " if not loop.first -}}
        target.{{ alluvium._quoted_identifier(name) }} <=> vanished.{{ alluvium._quoted_identifier(name) }}
        {%- endfor %}
    when matched then delete
{%- endmacro %}
