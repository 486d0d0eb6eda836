{# Any other way to build the model would double its rows or lose its past, on a green run. #}
{% macro _require_incremental(caller_name, strategy) %}
    {%- do alluvium._require_kind(caller_name) -%}
    {%- do alluvium._require_options_of_model(caller_name) -%}
    {%- for option, wanted in {"materialized": "incremental", "incremental_strategy": strategy}.items()
        if alluvium._own_config().get(option) != wanted -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, option, alluvium._own_config().get(option),
            wanted ~ ", which " ~ caller_name ~ " sets itself: delete `" ~ option
            ~ "` from the model and from its folder in dbt_project.yml",
        ) %}
    {%- endfor -%}
    {#-
        Rows are deleted, properties are kept, versions are asked for; of a change log, too, what its statistics say.
    -#}
    {%- do alluvium._require_one_of(
        caller_name ~ ": model " ~ model.name, "file_format", alluvium._own_config().get("file_format"),
        ["delta"] if strategy == "append" else ["delta", "hudi"]
    ) -%}
    {%- do alluvium._require_strategy(caller_name, strategy) -%}
{% endmacro %}


{# A misspelled option would be lost without a word. A folder's `meta.cdc` reaches all of its models. #}
{% macro _require_options_of_model(caller_name) %}
    {%- for name in (alluvium._own_config().get("meta") or {}).get("cdc") or {}
        if name not in ["delete_policy", "empty_partition_value", "merge_guard", "stored_as_scd_type"] -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "an option in meta.cdc of the model or its folder", name,
            "delete_policy, empty_partition_value"
            ~ ("; this one is said in the source's YAML" if name in alluvium._feed_defaults() else "")
        ) %}
    {%- endfor -%}
{% endmacro %}


{#
    The SQL of a macro that is the whole body of a model, remembered for _require_whole_body. What a model makes of it
    would be taken for the rows of a batch, and merged or appended as such.
#}
{% macro _whole_body(sql) %}
    {%- do alluvium._remember("body", this, sql) if alluvium._is_run() -%}
    {{ return(sql) }}
{% endmacro %}


{% macro _require_whole_body(compiled_code) %}
    {%- set body = alluvium._remembered("body", this) -%}
    {%- set kind = alluvium._kind_of_model(model) -%}
    {%- if body is not none -%}
        {%- set around =
            modules.re.sub("(?s)/[*].*?[*]/|--[^\n]*|;", "", compiled_code | replace(body, "", 1)) | trim -%}
        {%- if kind in ["current_rows", "rejected_rows"] -%}
            {%- do alluvium._require_one_of(
                    kind ~ ": model " ~ model.name, "materialized", config.get("materialized"),
                    ["view", "table", "ephemeral"]
                )
                if not around and config.get("materialized") == "incremental" -%}
        {%- elif around and kind in alluvium._kinds_of_models() -%}
            {% do alluvium._raise_invalid(
                "model " ~ model.name, "SQL around the call that makes it a " ~ kind | replace("_", " "), around,
                "none: the call is the whole body. Filter or add columns in a model that reads this one"
            ) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    What a table was built with stands in its properties (record_applied_batches writes what is remembered here). Rows
    of other options beside those that are there would make a table of two kinds.
#}
{% macro _require_same_options(subject, argument, given, options, allowed=none) %}
    {%- set key = local_md5(tojson(options)) -%}
    {%- set properties = alluvium._table_properties(this) if alluvium._is_run() and is_incremental() else {} -%}
    {%- if properties.get("key", "none") not in [key, "none"] -%}
        {% do alluvium._raise_invalid(
            subject, argument, given,
            allowed or "those that " ~ this ~ " was built with; others need " ~ alluvium._rebuild_command(this),
        ) %}
    {%- endif -%}
    {%- do alluvium._require_placed_rows(properties)
        if alluvium._is_run() and is_incremental() and alluvium._is_kept_by_key(model) -%}
    {%- do alluvium._remember("key", this, key) if alluvium._is_run() -%}
{% endmacro %}


{#
    dbt-spark takes the SQL of a strategy from the root project or from itself, never from a package (dbt-core 1.11). As
    a package Alluvium is asked only if the root project passes the call on (docs/guide/use-as-package.md). Without that
    a merge would have no position guard and a mart would keep the partitions that are gone, on a green run.
#}
{% macro _require_strategy(caller_name, strategy) %}
    {%- if execute -%}
        {%- set own = {
            "append": "get_insert_into_sql", "insert_overwrite": "get_insert_overwrite_sql",
            "merge": "spark__get_merge_sql",
        }[strategy] -%}
        {%- do alluvium._require_passed_on(
            caller_name, "incremental_strategy " ~ strategy, own, alluvium._macro_of_strategy(own)
        ) -%}
        {%- do alluvium._require_passed_on(
            caller_name, "a full refresh", "should_full_refresh", context["should_full_refresh"].macro
        ) -%}
        {%- if alluvium._partition_names() -%}
            {%- do alluvium._require_passed_on(
                caller_name, "partition_by", "spark__create_table_as", adapter.dispatch("create_table_as", "dbt").macro
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    The macro that dbt-spark's materialization calls. Of the three only that of a merge is dispatched, unless the root
    project has one of the plain name.
#}
{% macro _macro_of_strategy(name) %}
    {%- set plain = context[name | replace("spark__", "")].macro -%}
    {{ return(
            adapter.dispatch("get_merge_sql", "dbt").macro if plain.unique_id == "macro.dbt.get_merge_sql" else plain
        ) }}
{% endmacro %}


{#
    True, or the query fails: a change without a position or without its key would never be merged, or merged twice.
    Change logs reject them; those of earlier releases may have some. The kind is a part of the condition, because Spark
    may evaluate it before the conditions beside it.
#}
{% macro _has_its_place(change_log, feed) -%}
    {%- set conditions = ["_cdc_position is null"] -%}
    {%- for name in feed.key if not alluvium._column_of(feed, name).cdc.nullable -%}
        {%- do conditions.append("_cdc_kind = 'change' and " ~ alluvium._quoted_identifier(name) ~ " is null") -%}
    {%- endfor -%}
    if(
        _cdc_kind in ('change', 'truncate') and ({{ conditions | join(" or ") }}),
        raise_error({{ alluvium._string_literal(alluvium._describe_lost_place(change_log, change_log)) }}),
        true
    )
{%- endmacro %}


{% macro _describe_lost_place(table, change_log) %}
    {{ return(
        table.identifier
        ~ " has rows without a position, or with NULL in a key column that is not declared nullable: "
        ~ "later changes of them would be lost. An earlier release accepted them; "
        ~ alluvium._rebuild_command(change_log) ~ " reads the files again and rejects them"
    ) }}
{% endmacro %}


{# Looked for once in a table of an earlier release: a key that has no new change would keep a row that is wrong. #}
{% macro _require_placed_rows(properties) %}
    {%- if alluvium._is_run() and "has_positions" not in properties -%}
        {%- if alluvium._query_rows("select 1 as missing from " ~ this ~ " where _cdc_position is null limit 1") -%}
            {{ exceptions.raise_compiler_error(
                    alluvium._describe_lost_place(this, alluvium._change_log_of_model()) ~ "."
                ) }}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
