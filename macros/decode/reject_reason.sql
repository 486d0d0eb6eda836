{#
    Why a row is rejected, as `code` or `code: detail`; NULL where it is not. The first reason that holds is given.
#}
{% macro _reject_reason(feed) -%}
    {%- set reasons = [alluvium._reason_of_line(feed)] -%}
    {%- for reason in alluvium._reasons_of_columns(feed) if reason.columns -%}
        {%- do reasons.append(
            "if(" ~ reason.get("when", "kind = 'change'") ~ ", concat('" ~ reason.code ~ ": ', " ~ reason.columns
            ~ "), null)"
        ) -%}
    {%- endfor -%}
    coalesce(
        {{ reasons | join(",\n") | indent(4) }}
    )
{%- endmacro %}


{# What is wrong with a line as a whole. #}
{% macro _reason_of_line(feed) -%}
    case
        when read_error like 'invalid_utf8%'
            then concat('invalid_utf8: ', coalesce(nullif(substring(read_error, 15), ''), ''))
        when read_error is not null then concat('unreadable_file: ', read_error)
        {%- if feed.format == "json" %}
        {#- Spark's JSON reader puts U+FFFD for bytes that are not UTF-8 and says nothing. #}
        when {{ alluvium._is_invalid_utf8("value") }}
            and not coalesce({{ alluvium._is_decided_despite_text(feed) }}, false)
            then 'invalid_utf8'
        {%- endif %}
        when kind = 'rejected' and malformed then 'malformed_json'
        {%- if feed.connector == "mongodb" %}
        when kind = 'rejected' and op = 'u' then 'partial_document'
        {%- endif %}
        when kind = 'rejected' and op is not null then concat('unknown_op: ', op)
        when kind = 'rejected' then 'unknown_shape'
        when kind in ('change', 'truncate') and source_position is null then 'missing_position'
        {%- if feed.key %}
        when kind = 'change' and ({{ alluvium._misses_key(feed) }})
            then concat('missing_key: ', {{ alluvium._missing_key_columns(feed) | indent(12) }})
        {%- else %}
        when kind = 'change' and row_image is null then 'missing_key: no row image'
        {%- if feed.shape != "row" %}
        when kind = 'change' and {{ alluvium._misses_before_image(feed) }}
            then concat('missing_before: ', {{ alluvium._missing_before_image(feed) }})
        when kind = 'change' and op = 'r' and snapshot = 'incremental' then 'incremental_snapshot'
        {%- endif %}
        {%- endif %}
    end
{%- endmacro %}


{% macro _is_invalid_utf8(text) %}
    {{ return(text ~ " is not null and " ~ text ~ " <> decode(cast(" ~ text ~ " as binary), 'UTF-8')") }}
{% endmacro %}


{#
    What is wrong with columns, in the order in which it is told: the code, the SQL expression of the list of the
    columns (NULL for none; `none` where it cannot be), and for which rows.
#}
{% macro _reasons_of_columns(feed) %}
    {%- set reasons = [] -%}
    {%- if alluvium._compares_keys(feed) -%}
        {%- do reasons.append({"code": "changed_key", "columns": alluvium._changed_key_columns(feed)}) -%}
    {%- endif -%}
    {%- do reasons.append({"code": "missing_before", "columns": alluvium._missing_values(feed)}) -%}
    {%- if feed.unknown_columns == "quarantine" -%}
        {%- do reasons.append({
            "code": "unknown_column",
            "columns": "array_join(unknown_columns, ', ')",
            "when": "kind = 'change'" ~ (" and op <> 'd'" if feed.key else ""),
        }) -%}
    {%- endif -%}
    {%- do reasons.append({"code": "ambiguous_unit", "columns": alluvium._ambiguous_columns(feed)}) -%}
    {%- do reasons.append({
        "code": "type_misfit",
        "columns": alluvium._misfit_columns(feed),
        "when": "kind in ('change', 'truncate')" if feed.apply_as_truncates else "kind = 'change'",
    }) -%}
    {{ return(reasons) }}
{% endmacro %}


{% macro _unless_op_decides(name, feed, condition) %}
    {%- set ops = alluvium._ops_decided_without(name, feed) -%}
    {{ return("op not in ('" ~ ops | join("', '") ~ "') and (" ~ condition ~ ")" if ops else condition) }}
{% endmacro %}


{#
    The condition that a line is a delete or a truncate, and that bytes which are not UTF-8 lie outside of the columns
    that decide it.
#}
{% macro _is_decided_despite_text(feed) %}
    {%- set alternatives = [] -%}
    {%- for op, kind in [("d", "change"), ("t", "truncate")] if feed.key or op == "t" -%}
        {%- set texts = ["''"] -%}
        {%- for column in alluvium._declared_columns(feed)
            if (op == "d" or feed.apply_as_truncates) and op not in alluvium._ops_decided_without(column.name, feed) -%}
            {%- do texts.append(alluvium._sent_value(column, feed)) -%}
        {%- endfor -%}
        {%- do alternatives.append(
            "kind = '" ~ kind ~ "' and op = '" ~ op ~ "'"
            ~ (" and not contains(concat_ws(" ~ texts | join(", ") ~ "), '\\uFFFD')" if texts | length > 1)
        ) -%}
    {%- endfor -%}
    {{ return(alternatives | join(" or ")) }}
{% endmacro %}


{# A key column that is absent, or NULL although it is not declared nullable. #}
{% macro _misses_key(feed) -%}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- do conditions.append(alluvium._misses_key_column(feed, name)) -%}
    {%- endfor -%}
    row_image is null or {{ conditions | join(" or ") }}
{%- endmacro %}


{% macro _misses_key_column(feed, name) %}
    {%- set literal = alluvium._string_literal(name) -%}
    {%- if alluvium._column_of(feed, name).cdc.nullable -%}
        {{ return("not map_contains_key(row_image, " ~ literal ~ ")") }}
    {%- endif -%}
    {{ return(alluvium._sent_value(alluvium._column_of(feed, name), feed) ~ " is null") }}
{% endmacro %}


{% macro _missing_key_columns(feed) %}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- do conditions.append([
            alluvium._column_of(feed, name), "row_image is null or " ~ alluvium._misses_key_column(feed, name)
        ]) -%}
    {%- endfor -%}
    {{ return(alluvium._columns_where(conditions)) }}
{% endmacro %}


{# An update without an image before, or with one that has not the column, says nothing of it. #}
{% macro _changed_key_columns(feed) %}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- set column, literal = alluvium._column_of(feed, name), alluvium._string_literal(name) -%}
        {%- do conditions.append([
            column,
            "map_contains_key(image_before, " ~ literal ~ ") and not image_before[" ~ literal ~ "] <=> "
            ~ alluvium._sent_value(column, feed),
        ]) -%}
    {%- endfor -%}
    {{ return(alluvium._columns_where(conditions)) }}
{% endmacro %}


{# Columns whose text is there and whose value is not, or not all of it. #}
{% macro _misfit_columns(feed) %}
    {%- set conditions = [] -%}
    {%- for column in alluvium._columns_to_decode(feed) if not alluvium._takes_any_text(column, feed) -%}
        {%- do conditions.append(
            [column, alluvium._unless_op_decides(column.name, feed, alluvium._is_misfit(column, feed))]
        ) -%}
    {%- endfor -%}
    {{ return(alluvium._columns_where(conditions)) }}
{% endmacro %}


{% macro _takes_any_text(column, feed) %}
    {{ return(column.data_type == "string" and not alluvium._semantic_type(column, feed)) }}
{% endmacro %}


{% macro _is_misfit(column, feed) %}
    {%- set value = alluvium._value(column, feed) -%}
    {%- set changed =
        none if column.names
        else alluvium._is_another_value(column, feed, alluvium._text(column, feed), value) -%}
    {{ return(
        alluvium._sent_value(column, feed) ~ " is not null and (" ~ value ~ " is null"
        ~ (" or coalesce(" ~ changed ~ ", true)" if changed else "") ~ ")"
        ~ (" and array_contains(unavailable_columns, " ~ alluvium._name_in_record(column) ~ ") is not true"
            if alluvium._may_be_unavailable(column, feed) else "")
    ) }}
{% endmacro %}


{#
    The value of a column in the log: a delete is taken also where its image has one that does not fit, and that one is
    not. Those of sets are without such values already (_decode_column).
#}
{% macro _logged_value(column, feed) %}
    {%- set value = alluvium._value(column, feed) -%}
    {%- set changed =
        none if column.name in alluvium._columns_alike(feed).members
        else alluvium._is_another_value(column, feed, alluvium._text(column, feed), value) -%}
    {{ return(
        "if(op = 'd' and (" ~ changed ~ "), null, " ~ value ~ ")"
        if changed and "d" in alluvium._ops_decided_without(column.name, feed) else value
    ) }}
{% endmacro %}


{#
    Columns whose unit nothing but the record's own schema says: in the adaptive modes Debezium sends timestamp(0..3) in
    milliseconds and timestamp(4..6) in microseconds.
#}
{% macro _columns_without_unit(feed) %}
    {%- set columns = [] -%}
    {%- if feed.time_precision_mode in ["adaptive", "adaptive_time_microseconds"] -%}
        {%- do columns.extend(
            alluvium._columns_to_decode(feed) | selectattr("data_type", "in", ["timestamp_ntz", "array<timestamp_ntz>"])
            | rejectattr("cdc.semantic_type")
        ) -%}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{# Those of them that say it neither here, where both units are a possible time. #}
{% macro _ambiguous_columns(feed) %}
    {%- set conditions = [] -%}
    {%- for column in alluvium._columns_without_unit(feed) -%}
        {%- do conditions.append(
                [column, alluvium._unless_op_decides(column.name, feed, alluvium._is_ambiguous(column, feed))]
            ) -%}
    {%- endfor -%}
    {{ return(alluvium._columns_where(conditions)) }}
{% endmacro %}


{#
    253402300799999 milliseconds are the end of the year 9999; as microseconds they are in 1978. What is larger can
    only be microseconds, and nought is 1970 in both.
#}
{% macro _is_ambiguous(column, feed) %}
    {%- set text = alluvium._text(column, feed) -%}
    {%- set condition = "abs(try_cast({} as bigint)) between 1 and 253402300799999" -%}
    {%- set condition =
        "exists(from_json(" ~ text ~ ", 'array<string>'), element -> " ~ condition.format("element") ~ ")"
        if column.data_type.startswith("array") else condition.format(text) -%}
    {{ return("semantic_types[" ~ alluvium._name_in_record(column) ~ "] is null and " ~ condition) }}
{% endmacro %}
