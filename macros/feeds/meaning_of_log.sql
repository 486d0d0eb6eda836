{#
    What rows mean beyond their types: the options of a feed, and of a model, that make other rows of the same events.
    Written down option by option, as hashes, with each file that a change log has read and with each state and history.
    A log does not decode again what it has, so a run warns of files that were decoded otherwise. A state or a history
    is computed from its log, and is built anew by itself (_reason_to_rebuild).
#}
{% macro _meaning_of_log(feed) %}
    {%- set options = {} -%}
    {%- for name in [
        "apply_as_deletes", "apply_as_truncates", "ignore_rows", "full_dumps", "ignored_null_columns",
        "time_precision_mode", "decimal_handling_mode", "decimal_format",
        "binary_handling_mode", "bigint_unsigned_handling_mode", "unavailable_value_placeholder",
    ] -%}
        {%- do options.update({name: feed.get(name)}) -%}
    {%- endfor -%}
    {#-
        Which of the values are there to be had: `undeclared` and `default` say the same of that. Logs of earlier
        releases have Oracle's, too.
    -#}
    {%- set is_incomplete =
        feed.key | length > 0 and feed.connector in ["postgresql", "oracle"] and feed.replica_identity != "full" -%}
    {%- do options.update({"replica_identity": is_incomplete or alluvium._lacks_full_before_images(feed)}) -%}
    {%- for option in ["default", "semantic_type", "nullable", "unsigned"] -%}
        {%- set columns = {} -%}
        {%- for column in feed.columns if column.cdc[option] is defined -%}
            {%- do columns.update({column.name: column.cdc[option]}) -%}
        {%- endfor -%}
        {%- do options.update({option: columns}) -%}
    {%- endfor -%}
    {{ return(options) }}
{% endmacro %}


{#
    The key and the order of states are compared elsewhere (_require_key_of_table), and so are the columns of histories.
#}
{% macro _meaning_of_state(feed) %}
    {%- set cdc = (config.get("meta") or {}).get("cdc") or {} -%}
    {{ return({
        "delete_policy": cdc.get("delete_policy", "soft"),
        "snapshots": feed.snapshots,
        "replica_identity": feed.replica_identity,
    }) }}
{% endmacro %}


{# Of the table of a model. #}
{% macro _meaning_of_model() %}
    {{ return(alluvium._meaning_of_state(alluvium._feed_of_node("model " ~ model.name, model))) }}
{% endmacro %}


{% macro _declared(options) %}
    {%- set hashes = [] -%}
    {%- for name, value in options.items() -%}
        {%- do hashes.append(name ~ "=" ~ local_md5(tojson(value, sort_keys=true))[:8]) -%}
    {%- endfor -%}
    {{ return(hashes | join(" ")) }}
{% endmacro %}


{# The options that had other values in one of the declarations that were written down. #}
{% macro _changed_options(options, declarations) %}
    {%- set changed = [] -%}
    {%- for entry in alluvium._declared(options).split() -%}
        {%- set name = entry.split("=")[0] -%}
        {%- for declaration in declarations if name not in changed -%}
            {%- do changed.append(name) if (name ~ "=") in declaration and entry not in declaration.split() -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(changed) }}
{% endmacro %}


{# As a part of a sentence; none without one. #}
{% macro _describe_changed_options(options, declarations) %}
    {%- set changed = alluvium._changed_options(options, declarations) -%}
    {{ return(
        changed | join(", ") ~ (" is" if changed | length == 1 else " are") ~ " declared otherwise" if changed else none
    ) }}
{% endmacro %}


{# In every run, as long as there are such files. #}
{% macro _warn_of_other_declaration(feed, change_log, runs) %}
    {%- set declarations = [] -%}
    {%- for run in runs -%}
        {%- do declarations.extend((run.declarations or "").split("|")) -%}
    {%- endfor -%}
    {%- set said = alluvium._describe_changed_options(alluvium._meaning_of_log(feed), declarations | unique | list) -%}
    {%- if said -%}
        {%- do alluvium._warn(
            feed.name ~ ": " ~ said
            ~ " than when files were read that the log has. Their lines stay as they were decoded; "
            ~ alluvium._rebuild_command(change_log) ~ " decodes all of them as they are declared now"
        ) -%}
    {%- endif -%}
{% endmacro %}
