{#
    Why a row is rejected, as `code` or `code: detail`; NULL where it is not. The first reason that holds is given.
#}
{% macro reject_reason(feed) -%}
    case
        when read_error like 'invalid_utf8%' then concat('invalid_utf8: ', coalesce(nullif(substring(read_error, 15), ''), ''))
        when read_error is not null then concat('unreadable_file: ', read_error)
        {%- if feed.format == "json" %}
        {#- Spark's JSON reader puts U+FFFD for bytes that are not UTF-8 and says nothing. #}
        when value is not null and value <> decode(cast(value as binary), 'UTF-8') and not coalesce({{ alluvium.is_decided_despite_text(feed) }}, false) then 'invalid_utf8'
        {%- endif %}
        when kind = 'rejected' and malformed then 'malformed_json'
        {%- if feed.connector == "mongodb" %}
        when kind = 'rejected' and op = 'u' then 'partial_document'
        {%- endif %}
        when kind = 'rejected' and op is not null then concat('unknown_op: ', op)
        when kind = 'rejected' then 'unknown_shape'
        when kind in ('change', 'truncate') and source_position is null then 'missing_position'
        {%- if feed.key %}
        when kind = 'change' and ({{ alluvium.misses_key(feed) }}) then concat('missing_key: ', {{ alluvium.missing_key_columns(feed) }})
        {%- if alluvium.compares_keys(feed) %}
        when kind = 'change' and size({{ alluvium.changed_key_columns(feed) | indent(8) }}) > 0
            then concat('changed_key: ', array_join({{ alluvium.changed_key_columns(feed) | indent(8) }}, ', '))
        {%- endif %}
        {%- else %}
        when kind = 'change' and row_image is null then 'missing_key: no row image'
        {%- if feed.shape != "row" %}
        when kind = 'change' and {{ alluvium.misses_image_before(feed) }} then concat('missing_before: ', {{ alluvium.missing_image_before(feed) }})
        when kind = 'change' and op = 'r' and snapshot = 'incremental' then 'incremental_snapshot'
        {%- endif %}
        {%- endif %}
        {%- set missing = alluvium.missing_values(feed) %}
        {%- if missing %}
        when kind = 'change' and size({{ missing | indent(8) }}) > 0 then concat('missing_before: ', array_join({{ missing | indent(8) }}, ', '))
        {%- endif %}
        {%- if feed.unknown_columns == "quarantine" %}
        when kind = 'change'{{ " and op <> 'd'" if feed.key }} and unknown_columns is not null then concat('unknown_column: ', array_join(unknown_columns, ', '))
        {%- endif %}
        {%- if alluvium.columns_of_unsaid_unit(feed) %}
        when kind = 'change' and size({{ alluvium.ambiguous_columns(feed) | indent(8) }}) > 0
            then concat('ambiguous_unit: ', array_join({{ alluvium.ambiguous_columns(feed) | indent(8) }}, ', '))
        {%- endif %}
        when kind {{ "in ('change', 'truncate')" if feed.apply_as_truncates else "= 'change'" }} and size({{ alluvium.misfit_columns(feed) | indent(8) }}) > 0
            then concat('type_misfit: ', array_join({{ alluvium.misfit_columns(feed) | indent(8) }}, ', '))
    end
{%- endmacro %}


{#
    The operations that a column has no part in. The key decides a delete, and a truncate is nothing but its operation: what else their images
    have may be undeclared, or may not fit. The columns that order rows decide each of them, and so do those that the feed's conditions name;
    of a table without a key all values say which row is deleted.
#}
{% macro ops_decided_without(name, feed) %}
    {%- set conditions = [feed.apply_as_deletes, feed.apply_as_truncates, feed.ignore_rows] | select | join(" ") | lower -%}
    {%- if name in (feed.sequence_by or []) or name | lower in conditions -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return((["d"] if feed.key and name not in feed.key else []) + (["t"] if feed.apply_as_truncates else [])) }}
{% endmacro %}


{% macro unless_op_decides(name, feed, condition) %}
    {%- set ops = alluvium.ops_decided_without(name, feed) -%}
    {{ return("op not in ('" ~ ops | join("', '") ~ "') and (" ~ condition ~ ")" if ops else condition) }}
{% endmacro %}


{# The condition that a line is a delete or a truncate, and that bytes which are not UTF-8 lie outside of the columns that decide it. #}
{% macro is_decided_despite_text(feed) %}
    {%- set alternatives = [] -%}
    {%- for op, kind in [("d", "change"), ("t", "truncate")] if feed.key or op == "t" -%}
        {%- set texts = ["''"] -%}
        {%- for column in alluvium.declared_columns(feed)
            if (op == "d" or feed.apply_as_truncates) and op not in alluvium.ops_decided_without(column.name, feed) -%}
            {%- do texts.append("row_image[" ~ alluvium.string_literal(column.name) ~ "]") -%}
        {%- endfor -%}
        {%- do alternatives.append(
            "kind = '" ~ kind ~ "' and op = '" ~ op ~ "'" ~ (" and not contains(concat_ws(" ~ texts | join(", ") ~ "), '\\uFFFD')" if texts | length > 1)
        ) -%}
    {%- endfor -%}
    {{ return(alternatives | join(" or ")) }}
{% endmacro %}


{# A key column that is absent, or NULL although it is not declared nullable. #}
{% macro misses_key(feed) -%}
    {%- set conditions = [] -%}
    {%- for name in feed.key -%}
        {%- do conditions.append(alluvium.misses_key_column(feed, name)) -%}
    {%- endfor -%}
    row_image is null or {{ conditions | join(" or ") }}
{%- endmacro %}


{% macro misses_key_column(feed, name) %}
    {%- set literal = alluvium.string_literal(name) -%}
    {%- if alluvium.column_of(feed, name).cdc.nullable -%}
        {{ return("not map_contains_key(row_image, " ~ literal ~ ")") }}
    {%- endif -%}
    {{ return("row_image[" ~ literal ~ "] is null") }}
{% endmacro %}


{% macro missing_key_columns(feed) -%}
    concat_ws(', ', {% for name in feed.key %}if(row_image is null or {{ alluvium.misses_key_column(feed, name) }}, {{ alluvium.string_literal(name) }}, null){{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}


{#
    Debezium sends a delete and a create where a row gets another key, so an update that changes the declared one says that the
    connector's key is another, or none: as an update under its new key it would leave the row under the old one, too. A document
    of MongoDB keeps its `_id`; where PostgreSQL sends no whole image before, columns that it leaves out have defaults there.
#}
{% macro compares_keys(feed) %}
    {{ return(
        feed.key | length > 0
        and feed.shape == "envelope"
        and feed.connector != "mongodb"
        and not alluvium.has_no_whole_image_before(feed)
    ) }}
{% endmacro %}


{# An update without an image before, or with one that has not the column, says nothing of it. #}
{% macro changed_key_columns(feed) %}
    {%- set conditions = {} -%}
    {%- for name in feed.key -%}
        {%- set literal = alluvium.string_literal(name) -%}
        {%- do conditions.update({name: "map_contains_key(image_before, " ~ literal ~ ") and not image_before[" ~ literal ~ "] <=> row_image[" ~ literal ~ "]"}) -%}
    {%- endfor -%}
    {{ return(alluvium.names_where(conditions)) }}
{% endmacro %}


{# Columns whose text is there and whose value is not, or not all of it. #}
{% macro misfit_columns(feed) %}
    {%- set conditions = {} -%}
    {%- for column in alluvium.declared_columns(feed) if not alluvium.takes_any_text(column, feed) -%}
        {%- do conditions.update({column.name: alluvium.unless_op_decides(column.name, feed, alluvium.is_misfit(column, feed))}) -%}
    {%- endfor -%}
    {{ return(alluvium.names_where(conditions)) }}
{% endmacro %}


{% macro names_where(conditions) -%}
    filter(
        array(
            {%- for name, condition in conditions.items() %}
            if({{ condition }}, {{ alluvium.string_literal(name) }}, null),
            {%- endfor %}
            cast(null as string)
        ),
        name -> name is not null
    )
{%- endmacro %}


{% macro takes_any_text(column, feed) %}
    {{ return(column.data_type == "string" and not alluvium.semantic_type(column, feed)) }}
{% endmacro %}


{% macro is_misfit(column, feed) %}
    {%- set value, changed = alluvium.value_of(column.name), alluvium.is_another_value(column, feed) -%}
    {{ return(
        "row_image[" ~ alluvium.string_literal(column.name) ~ "] is not null and (" ~ value ~ " is null"
        ~ (" or coalesce(" ~ changed ~ ", true)" if changed else "") ~ ")"
        ~ (" and array_contains(unavailable_columns, " ~ alluvium.string_literal(column.name) ~ ") is not true"
            if alluvium.may_be_unavailable(column, feed) else "")
    ) }}
{% endmacro %}


{# The same of a value in the log, or nothing for types that have none such. #}
{% macro is_another_value(column, feed) %}
    {%- set text, value = alluvium.text_of(column.name), alluvium.value_of(column.name) -%}
    {{ return([alluvium.is_changed_value(column, text, value), alluvium.is_of_wider_time(column, feed, value)] | select | join(" or ")) }}
{% endmacro %}


{# The value of a column in the log: a delete is taken also where its image has one that does not fit, and that one is not. #}
{% macro logged_value(column, feed) %}
    {%- set value, changed = alluvium.value_of(column.name), alluvium.is_another_value(column, feed) -%}
    {{ return("if(op = 'd' and (" ~ changed ~ "), null, " ~ value ~ ")" if changed and "d" in alluvium.ops_decided_without(column.name, feed) else value) }}
{% endmacro %}


{#
    The condition that a value is there and is not what its text says; none for types whose cast gives the value or NULL.
    A number that is too large for its type becomes infinity; an infinity of the source says so.
    No database has a day before 4713 BC. Debezium 3.6.3 sends such numbers for PostgreSQL's infinite dates (others from the snapshot than
    from the stream), and for timestamps past the year 294247; -infinity of a timestamp is told by its number.
#}
{% macro is_changed_value(column, text, value) %}
    {%- if column.data_type.startswith("decimal") -%}
        {{ return(alluvium.is_rounded(column, text)) }}
    {%- elif column.data_type == "date" -%}
        {{ return(value ~ " < date '-4713-11-24'") }}
    {%- elif column.data_type in ["timestamp", "timestamp_ntz"] -%}
        {%- set zone = "Z" if column.data_type == "timestamp" else "" -%}
        {{ return(
            value ~ " < " ~ column.data_type ~ " '-4713-11-24 00:00:00" ~ zone ~ "' and "
            ~ value ~ " <> " ~ column.data_type ~ " '-290308-12-21 19:59:27.6" ~ zone ~ "'"
        ) }}
    {%- elif column.data_type in ["float", "double"] -%}
        {{ return(
            "abs(" ~ value ~ ") = cast('Infinity' as " ~ column.data_type ~ ") and " ~ text ~ " not like '%Inf%'"
            ~ (" or " ~ alluvium.is_rounded_float(text, value) if column.data_type == "float" else "")
        ) }}
    {%- elif column.data_type.startswith("array") -%}
        {{ return(
            "size(filter(from_json(" ~ text ~ ", 'array<string>'), element -> element is not null))"
            ~ " <> size(filter(" ~ value ~ ", element -> element is not null))"
        ) }}
    {%- elif alluvium.base_type(column.data_type) in ["struct", "map"] -%}
        {{ return(alluvium.is_lost_inside(column.data_type, text, value)) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    These databases have no day after the year 9999. A time that is later was sent in a smaller unit than the declared one: its column was widened, as
    from `datetime` to `datetime(6)`, and no schema says so.
#}
{% macro is_of_wider_time(column, feed, value) %}
    {%- if feed.connector in ["mysql", "mariadb", "sqlserver", "oracle"] and column.data_type in ["timestamp", "timestamp_ntz"] -%}
        {{ return(value ~ " >= " ~ column.data_type ~ " '+10000-01-01 00:00:00" ~ ("Z" if column.data_type == "timestamp" else "") ~ "'") }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    Nine digits are enough for any number of 32 bits, and their texts have no more, unless they are the exact value in 64 bits. What has more, and is
    another number, was sent from a wider column.
#}
{% macro is_rounded_float(text, value) %}
    {{ return(
        "length(regexp_replace(regexp_replace(" ~ text ~ ", '[eE].*|[.]', ''), '^[-0]+|0+$', '')) > 9 and try_cast(" ~ text ~ " as double) <> cast(" ~ value ~ " as double)"
    ) }}
{% endmacro %}


{#
    The condition that from_json has left out something of a nested value, or changed it: it gives NULL for what does not fit, rounds
    decimals, completes dates and times, and takes a number for seconds. none where it can do neither.
#}
{% macro is_lost_inside(data_type, text, value) %}
    {%- set base = alluvium.base_type(data_type) -%}
    {%- if base == "struct" -%}
        {%- set conditions = [] -%}
        {%- for field in alluvium.struct_fields(data_type) -%}
            {%- do conditions.append(alluvium.is_part_lost(
                field.data_type, "fields[" ~ alluvium.string_literal(field.name) ~ "]", value ~ "." ~ alluvium.quoted_identifier(field.name)
            )) -%}
        {%- endfor -%}
        {{ return(
            alluvium.begins_otherwise(text, "{") ~ " or exists(array(from_json(" ~ text ~ ", 'map<string,string>')), fields -> "
            ~ conditions | join(" or ") ~ ")"
        ) }}
    {%- elif base == "array" -%}
        {{ return(
            alluvium.begins_otherwise(text, "[") ~ " or exists(zip_with(from_json(" ~ text ~ ", 'array<string>'), " ~ value ~ ", (part, item) -> "
            ~ alluvium.is_part_lost(alluvium.type_inside(data_type), "part", "item") ~ "), is_lost -> is_lost)"
        ) }}
    {%- elif base == "map" -%}
        {{ return(
            alluvium.begins_otherwise(text, "{") ~ " or exists(transform(map_entries(from_json(" ~ text ~ ", 'map<string,string>')), "
            ~ "entry -> struct(entry.value as part, " ~ value ~ "[entry.key] as item)), of_key -> "
            ~ alluvium.is_part_lost(alluvium.type_inside(data_type), "of_key.part", "of_key.item") ~ ")"
        ) }}
    {%- endif -%}
    {%- set patterns = {
        "date": "^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}$",
        "timestamp": alluvium.iso_timestamp_pattern() ~ "(Z|[+-][0-9]{2}:?[0-9]{2})$",
        "timestamp_ntz": alluvium.iso_timestamp_pattern() ~ "$",
    } -%}
    {{ return("not " ~ text ~ " rlike '" ~ patterns[base] ~ "'" if base in patterns else alluvium.is_changed_value({"data_type": data_type}, text, value)) }}
{% endmacro %}


{# from_json takes a list for a struct, and the other way round. #}
{% macro begins_otherwise(text, bracket) %}
    {{ return("not startswith(ltrim(" ~ text ~ "), '" ~ bracket ~ "')") }}
{% endmacro %}


{% macro is_part_lost(data_type, text, value) %}
    {%- set is_lost = alluvium.is_lost_inside(data_type, text, value) -%}
    {{ return("(" ~ text ~ " is not null and (" ~ value ~ " is null" ~ (" or " ~ is_lost if is_lost else "") ~ "))") }}
{% endmacro %}


{#
    Columns whose unit nothing but the record's own schema says: in the adaptive modes Debezium sends timestamp(0..3) in
    milliseconds and timestamp(4..6) in microseconds.
#}
{% macro columns_of_unsaid_unit(feed) %}
    {%- set columns = [] -%}
    {%- if feed.time_precision_mode in ["adaptive", "adaptive_time_microseconds"] -%}
        {%- do columns.extend(
            alluvium.declared_columns(feed) | selectattr("data_type", "in", ["timestamp_ntz", "array<timestamp_ntz>"]) | rejectattr("cdc.semantic_type")
        ) -%}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{# Those of them that say it neither here, where both units are a possible time. #}
{% macro ambiguous_columns(feed) %}
    {%- set conditions = {} -%}
    {%- for column in alluvium.columns_of_unsaid_unit(feed) -%}
        {%- do conditions.update({column.name: alluvium.unless_op_decides(column.name, feed, alluvium.is_ambiguous(column))}) -%}
    {%- endfor -%}
    {{ return(alluvium.names_where(conditions)) }}
{% endmacro %}


{#
    253402300799999 milliseconds are the end of the year 9999; as microseconds they are in 1978. What is larger can
    only be microseconds, and nought is 1970 in both.
#}
{% macro is_ambiguous(column) %}
    {%- set text = alluvium.text_of(column.name) -%}
    {%- set condition = "abs(try_cast({} as bigint)) between 1 and 253402300799999" -%}
    {%- set condition = "exists(from_json(" ~ text ~ ", 'array<string>'), element -> " ~ condition.format("element") ~ ")"
        if column.data_type.startswith("array") else condition.format(text) -%}
    {{ return("semantic_types[" ~ alluvium.string_literal(column.name) ~ "] is null and " ~ condition) }}
{% endmacro %}
