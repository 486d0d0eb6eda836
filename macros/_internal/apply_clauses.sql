{#
    What a feed says beside its connector, in words that other tools have: the order that it declares, and AUTO CDC's clauses. Checks them and puts
    into the feed what the macros ask for: `key` and `sequence_by` as lists, `columns` without those that its table leaves out
    (`unlisted_columns`), `ignored_null_columns`, and `tracked_columns`, those whose change makes a new version in a history.
#}
{% macro apply_clauses(subject, feed) %}
    {%- set row_connectors = ["jdbc", "table"] -%}
    {%- set connectors = row_connectors if feed.shape == "row" else
        alluvium.feed_allowed_values().connector | reject("in", row_connectors) | list -%}
    {%- do alluvium.require_one_of(subject, "meta.cdc.connector of shape " ~ feed.shape, feed.connector, connectors) -%}
    {%- do feed.update({"key": alluvium.one_option(subject, feed, "key", "keys")}) -%}
    {%- do alluvium.apply_order(subject, feed) -%}
    {%- do alluvium.refuse_clauses_of_rows(subject, feed) if feed.shape != "row" -%}
    {%- set names = feed.columns | map(attribute="name") | list -%}
    {%- set listed = alluvium.listed_columns(subject, feed, "column_list", "except_column_list", names) -%}
    {%- do feed.update({
        "unlisted_columns": feed.columns | rejectattr("name", "in", listed) | list,
        "columns": feed.columns | selectattr("name", "in", listed) | list,
    }) -%}
    {%- set values = listed | reject("in", feed.key or []) | list -%}
    {%- do feed.update({
        "stored_as_scd_type": feed.stored_as_scd_type | int,
        "ignored_null_columns": alluvium.ignored_null_columns(subject, feed, values),
        "tracked_columns": alluvium.listed_columns(subject, feed, "track_history_column_list", "track_history_except_column_list", values),
    }) -%}
    {%- do alluvium.refuse_undecided_truncates(subject, feed) -%}
    {%- do alluvium.require_full_dumps(subject, feed) if feed.full_dumps is not none -%}
    {#- Neither a place nor a time nor a column says where a snapshot began. -#}
    {%- do feed.update({"snapshots": "complete" if feed.full_dumps else "partial"}) if alluvium.has_declared_order(feed) -%}
{% endmacro %}


{# Of an option that has two names, or two that exclude each other. #}
{% macro one_option(subject, feed, option, other) %}
    {%- if feed[option] is not none and feed[other] is not none -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc." ~ other, feed[other], "nothing where meta.cdc." ~ option ~ " is given, too") %}
    {%- endif -%}
    {{ return(feed[option] if feed[option] is not none else feed[other]) }}
{% endmacro %}


{# Of rows, `order_by` has another name for `sequence_by`, unless it says `offset`. #}
{% macro apply_order(subject, feed) %}
    {%- set order = alluvium.one_option(subject, feed, "sequence_by", "order_by") -%}
    {%- if feed.shape != "row" -%}
        {%- do alluvium.require_one_of(subject, "meta.cdc.sequence_by of shape " ~ feed.shape, feed.sequence_by, [none]) -%}
        {%- do alluvium.require_one_of(subject, "meta.cdc.order_by of shape " ~ feed.shape, feed.order_by, [none, "position", "offset", "timestamp"]) -%}
        {%- do feed.update({"order_by": none}) if feed.order_by == "position" -%}
        {%- if not alluvium.has_declared_order(feed) and not alluvium.position_rules(feed) -%}
            {% do alluvium.raise_invalid(subject, "meta.cdc.order_by of connector " ~ feed.connector, feed.order_by, "offset or timestamp. " ~ feed.connectors[feed.connector].advice.rstrip(".")) %}
        {%- endif -%}
    {%- elif feed.order_by != "offset" -%}
        {%- set names = [order] if order is string else (order or []) -%}
        {%- if not names -%}
            {% do alluvium.raise_invalid(subject, "meta.cdc.sequence_by", order, "the columns that order the rows of a key; or order_by: offset, the order of delivery") %}
        {%- endif -%}
        {%- for name in names -%}
            {%- do alluvium.require_sequence_column(subject, feed, name) -%}
        {%- endfor -%}
        {%- do feed.update({"sequence_by": names, "order_by": none}) -%}
    {%- endif -%}
{% endmacro %}


{% macro require_sequence_column(subject, feed, name) %}
    {%- do alluvium.require_one_of(subject, "meta.cdc.sequence_by", name, feed.columns | map(attribute="name") | list) -%}
    {%- set column = alluvium.column_of(feed, name) -%}
    {%- do alluvium.require_one_of(
        subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", column.data_type.split("(")[0], alluvium.sortable_types()
    ) -%}
    {%- if column.data_type.startswith("decimal") and alluvium.decimal_precision(column.data_type) > 37 -%}
        {% do alluvium.raise_invalid(subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", column.data_type, "a decimal of at most 37 digits") %}
    {%- endif -%}
{% endmacro %}


{# An envelope says what it is; a condition beside it would say otherwise. #}
{% macro refuse_clauses_of_rows(subject, feed) %}
    {%- for option in [
        "apply_as_deletes", "apply_as_truncates", "ignore_rows", "ignore_null_updates_column_list", "ignore_null_updates_except_column_list",
    ] -%}
        {%- do alluvium.require_one_of(subject, "meta.cdc." ~ option ~ " of shape " ~ feed.shape, feed[option], [none]) -%}
    {%- endfor -%}
    {%- do alluvium.require_one_of(subject, "meta.cdc.ignore_null_updates of shape " ~ feed.shape, feed.ignore_null_updates, [false]) -%}
{% endmacro %}


{# After a truncate nothing says that a row is another one than before, so a NULL would keep a value that is gone. #}
{% macro refuse_undecided_truncates(subject, feed) %}
    {%- if feed.apply_as_truncates is not none and feed.ignored_null_columns -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.apply_as_truncates", feed.apply_as_truncates, "none where NULLs are ignored") %}
    {%- elif feed.apply_as_truncates is not none and feed.order_by == "offset" -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.apply_as_truncates", feed.apply_as_truncates, "none where order_by is offset: offsets of two partitions do not compare") %}
    {%- endif -%}
{% endmacro %}


{# The names in the list, or all but those in the other list. #}
{% macro listed_columns(subject, feed, option, except_option, names) %}
    {%- set given = alluvium.one_option(subject, feed, option, except_option) -%}
    {%- if given is string -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc." ~ (option if feed[option] is not none else except_option), given, "a list of columns") %}
    {%- endif -%}
    {%- for name in given or [] -%}
        {%- do alluvium.require_one_of(subject, "meta.cdc." ~ (option if feed[option] is not none else except_option), name, names) -%}
    {%- endfor -%}
    {%- if feed[option] is not none -%}
        {{ return(names | select("in", given) | list) }}
    {%- endif -%}
    {{ return(names | reject("in", given or []) | list) }}
{% endmacro %}


{# The columns outside the key whose NULL leaves the value as it was: none, all, those of a list, or all but those of the other. #}
{% macro ignored_null_columns(subject, feed, values) %}
    {%- set given = alluvium.one_option(subject, feed, "ignore_null_updates_column_list", "ignore_null_updates_except_column_list") -%}
    {%- if feed.ignore_null_updates and given is not none -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.ignore_null_updates", true, "false where a list of columns is given, too") %}
    {%- elif feed.ignore_null_updates or given is not none -%}
        {{ return(alluvium.listed_columns(subject, feed, "ignore_null_updates_column_list", "ignore_null_updates_except_column_list", values)) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{# The columns of the record, those among them that its table leaves out. #}
{% macro declared_columns(feed) %}
    {{ return(feed.columns + (feed.unlisted_columns or [])) }}
{% endmacro %}
