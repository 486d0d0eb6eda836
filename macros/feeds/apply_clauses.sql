{#
    What a feed says beside its connector, in words that other tools have: the order that it declares, and AUTO CDC's
    clauses. Checks them and puts into the feed what the macros ask for: `key` and `sequence_by` as lists, `columns`
    without those that its table leaves out (`unlisted_columns`), `_ignored_null_columns`, and `_tracked_columns`, those
    whose change makes a new version in a history.
#}
{% macro _apply_clauses(subject, feed) %}
    {%- set row_connectors = ["jdbc", "table"] -%}
    {%- set connectors = row_connectors if feed.shape == "row" else
        alluvium._feed_allowed_values().connector | reject("in", row_connectors) | list -%}
    {%- do
        alluvium._require_one_of(subject, "meta.cdc.connector of shape " ~ feed.shape, feed.connector, connectors) -%}
    {%- do feed.update({"key": alluvium._one_option(subject, feed, "key", "keys")}) -%}
    {%- do alluvium._apply_order(subject, feed) -%}
    {%- do alluvium._require_no_clauses_of_rows(subject, feed) if feed.shape != "row" -%}
    {%- set names = feed.columns | map(attribute="name") | list -%}
    {%- set listed = alluvium._listed_columns(subject, feed, "column_list", "except_column_list", names) -%}
    {%- do feed.update({
        "unlisted_columns": feed.columns | rejectattr("name", "in", listed) | list,
        "columns": feed.columns | selectattr("name", "in", listed) | list,
    }) -%}
    {%- set values = listed | reject("in", feed.key or []) | list -%}
    {%- do feed.update({
        "ignored_null_columns": alluvium._ignored_null_columns(subject, feed, values),
        "tracked_columns": alluvium._listed_columns(
            subject, feed, "track_history_column_list", "track_history_except_column_list", values
        ),
    }) -%}
    {%- do alluvium._require_decided_truncates(subject, feed) -%}
    {%- do alluvium._require_full_dumps(subject, feed) if feed.full_dumps is not none -%}
    {#- Neither a place nor a time nor a column says where a snapshot began. -#}
    {%- do feed.update({"snapshots": "complete" if feed.full_dumps else "partial"})
        if alluvium._has_declared_order(feed) -%}
{% endmacro %}


{# Of an option that has two names, or two that exclude each other. #}
{% macro _one_option(subject, feed, option, other) %}
    {%- if feed[option] is not none and feed[other] is not none -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc." ~ other, feed[other], "nothing where meta.cdc." ~ option ~ " is given, too"
        ) %}
    {%- endif -%}
    {{ return(feed[option] if feed[option] is not none else feed[other]) }}
{% endmacro %}


{# Of rows, `order_by` has another name for `sequence_by`, unless it says `offset`. #}
{% macro _apply_order(subject, feed) %}
    {%- set order = alluvium._one_option(subject, feed, "sequence_by", "order_by") -%}
    {%- if feed.shape != "row" -%}
        {%- do alluvium._require_one_of(
            subject, "meta.cdc.sequence_by of shape " ~ feed.shape, feed.sequence_by, [none]
        ) -%}
        {%- do alluvium._require_one_of(
            subject, "meta.cdc.order_by of shape " ~ feed.shape, feed.order_by,
            [none, "position", "offset", "timestamp"]
        ) -%}
        {%- do feed.update({"order_by": none}) if feed.order_by == "position" -%}
        {%- if not alluvium._has_declared_order(feed) and not alluvium._position_rules(feed) -%}
            {% do alluvium._raise_invalid(
                subject, "meta.cdc.order_by of connector " ~ feed.connector, feed.order_by,
                "offset or timestamp. " ~ feed.connectors[feed.connector].advice.rstrip(".")
            ) %}
        {%- endif -%}
    {%- elif feed.order_by != "offset" -%}
        {%- set names = [order] if order is string else (order or []) -%}
        {%- if not names -%}
            {% do alluvium._raise_invalid(
                subject, "meta.cdc.sequence_by", order,
                "the columns that order the rows of a key; or order_by: offset, the order of delivery"
            ) %}
        {%- endif -%}
        {%- for name in names -%}
            {%- do alluvium._require_sequence_column(subject, feed, name) -%}
        {%- endfor -%}
        {%- do feed.update({"sequence_by": names, "order_by": none}) -%}
    {%- endif -%}
{% endmacro %}


{% macro _require_sequence_column(subject, feed, name) %}
    {%- do
        alluvium._require_one_of(subject, "meta.cdc.sequence_by", name, feed.columns | map(attribute="name") | list) -%}
    {%- set column = alluvium._column_of(feed, name) -%}
    {%- do alluvium._require_one_of(
        subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", column.data_type.split("(")[0],
        alluvium._sortable_types()
    ) -%}
    {%- if column.data_type.startswith("decimal") and alluvium._decimal_precision(column.data_type) > 37 -%}
        {% do alluvium._raise_invalid(
            subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", column.data_type,
            "a decimal of at most 37 digits"
        ) %}
    {%- endif -%}
{% endmacro %}


{# An envelope says what it is; a condition beside it would say otherwise. #}
{% macro _require_no_clauses_of_rows(subject, feed) %}
    {%- for option in [
        "apply_as_deletes", "apply_as_truncates", "ignore_rows", "ignore_null_updates_column_list",
        "ignore_null_updates_except_column_list",
    ] -%}
        {%- do alluvium._require_one_of(
            subject, "meta.cdc." ~ option ~ " of shape " ~ feed.shape, feed[option], [none]
        ) -%}
    {%- endfor -%}
    {%- do alluvium._require_one_of(
        subject, "meta.cdc.ignore_null_updates of shape " ~ feed.shape, feed.ignore_null_updates, [false]
    ) -%}
{% endmacro %}


{# After a truncate nothing says that a row is another one than before, so a NULL would keep a value that is gone. #}
{% macro _require_decided_truncates(subject, feed) %}
    {%- if feed.apply_as_truncates is not none and feed.ignored_null_columns -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.apply_as_truncates", feed.apply_as_truncates, "none where NULLs are ignored"
        ) %}
    {%- elif feed.apply_as_truncates is not none and feed.order_by == "offset" -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.apply_as_truncates", feed.apply_as_truncates,
            "none where order_by is offset: offsets of two partitions do not compare"
        ) %}
    {%- endif -%}
{% endmacro %}


{# The names in the list, or all but those in the other list. #}
{% macro _listed_columns(subject, feed, option, except_option, names) %}
    {%- set given = alluvium._one_option(subject, feed, option, except_option) -%}
    {%- if given is string -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc." ~ (option if feed[option] is not none else except_option), given, "a list of columns"
        ) %}
    {%- endif -%}
    {%- for name in given or [] -%}
        {%- do alluvium._require_one_of(
            subject, "meta.cdc." ~ (option if feed[option] is not none else except_option), name, names
        ) -%}
    {%- endfor -%}
    {%- if feed[option] is not none -%}
        {{ return(names | select("in", given) | list) }}
    {%- endif -%}
    {{ return(names | reject("in", given or []) | list) }}
{% endmacro %}


{#
    The columns outside the key whose NULL leaves the value as it was: none, all, those of a list, or all but those of
    the other.
#}
{% macro _ignored_null_columns(subject, feed, values) %}
    {%- set given =
        alluvium._one_option(
            subject, feed, "ignore_null_updates_column_list", "ignore_null_updates_except_column_list"
        ) -%}
    {%- if feed.ignore_null_updates and given is not none -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.ignore_null_updates", true, "false where a list of columns is given, too"
        ) %}
    {%- elif feed.ignore_null_updates or given is not none -%}
        {{ return(
            alluvium._listed_columns(
                subject, feed, "ignore_null_updates_column_list", "ignore_null_updates_except_column_list", values
            )
        ) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{#
    The operations that a column has no part in. The key decides a delete, and a truncate is nothing but its operation:
    what else their images have may be undeclared, or may not fit. The columns that order rows decide each of them, and
    so do those that the feed's conditions name; of a table without a key all values say which row is deleted.
#}
{% macro _ops_decided_without(name, feed) %}
    {%- set conditions =
        [feed.apply_as_deletes, feed.apply_as_truncates, feed.ignore_rows] | select | join(" ") | lower -%}
    {%- if name in (feed.sequence_by or []) or name | lower in conditions -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return((["d"] if feed.key and name not in feed.key else []) + (["t"] if feed.apply_as_truncates else [])) }}
{% endmacro %}
