{#
    The condition that a value is there and is not what its text says; none for types whose cast gives the value or
    NULL. A number that is too large for its type becomes infinity; an infinity of the source says so. No database has a
    day before 4713 BC. Debezium 3.6.3 sends such numbers for PostgreSQL's infinite dates (others from the snapshot than
    from the stream), and for timestamps past the year 294247; -infinity of a timestamp is told by its number.
#}
{% macro _is_changed_value(column, text, value) %}
    {%- if column.data_type.startswith("decimal") -%}
        {{ return(alluvium._is_rounded(column, text)) }}
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
            ~ (" or " ~ alluvium._is_rounded_float(text, value) if column.data_type == "float" else "")
        ) }}
    {%- elif column.data_type.startswith("array") -%}
        {{ return(
            "size(filter(from_json(" ~ text ~ ", 'array<string>'), element -> element is not null))"
            ~ " <> size(filter(" ~ value ~ ", element -> element is not null))"
        ) }}
    {%- elif alluvium._base_type(column.data_type) in ["struct", "map"] -%}
        {{ return(alluvium._is_lost_inside(column.data_type, text, value)) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    The same, or that a time was sent in a smaller unit; nothing for types that can be neither. The digits of a decimal
    are counted only where it is not written as Spark would write it.
#}
{% macro _is_another_value(column, feed, text, value) %}
    {%- set changed = alluvium._is_changed_value(column, text, value) -%}
    {%- if column.data_type.startswith("decimal") -%}
        {%- set changed = "not cast(" ~ value ~ " as string) <=> " ~ text ~ " and " ~ changed -%}
    {%- endif -%}
    {{ return([changed, alluvium._is_of_wider_time(column, feed, value)] | select | join(" or ")) }}
{% endmacro %}


{#
    These databases have no day after the year 9999. A time that is later was sent in a smaller unit than the declared
    one: its column was widened, as from `datetime` to `datetime(6)`, and no schema says so.
#}
{% macro _is_of_wider_time(column, feed, value) %}
    {%- if feed.connector in ["mysql", "mariadb", "sqlserver", "oracle"]
        and column.data_type in ["timestamp", "timestamp_ntz"] -%}
        {{ return(
            value ~ " >= " ~ column.data_type ~ " '+10000-01-01 00:00:00"
            ~ ("Z" if column.data_type == "timestamp" else "") ~ "'"
        ) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    Nine digits are enough for any number of 32 bits, and their texts have no more, unless they are the exact value in
    64 bits. What has more, and is another number, was sent from a wider column.
#}
{% macro _is_rounded_float(text, value) %}
    {{ return(
        "length(regexp_replace(regexp_replace(" ~ text ~ ", '[eE].*|[.]', ''), '^[-0]+|0+$', '')) > 9 and try_cast("
        ~ text ~ " as double) <> cast(" ~ value ~ " as double)"
    ) }}
{% endmacro %}


{#
    The condition that from_json has left out something of a nested value, or changed it: it gives NULL for what does
    not fit, rounds decimals, completes dates and times, and takes a number for seconds. none where it can do neither.
#}
{% macro _is_lost_inside(data_type, text, value) %}
    {%- set base = alluvium._base_type(data_type) -%}
    {%- if base == "struct" -%}
        {%- set conditions = [] -%}
        {%- for field in alluvium._struct_fields(data_type) -%}
            {%- do conditions.append(alluvium._is_part_lost(
                field.data_type, "fields[" ~ alluvium._string_literal(field.name) ~ "]",
                value ~ "." ~ alluvium._quoted_identifier(field.name)
            )) -%}
        {%- endfor -%}
        {{ return(
            alluvium._begins_otherwise(text, "{") ~ " or exists(array(from_json(" ~ text
            ~ ", 'map<string,string>')), fields -> "
            ~ conditions | join(" or ") ~ ")"
        ) }}
    {%- elif base == "array" -%}
        {{ return(
            alluvium._begins_otherwise(text, "[") ~ " or exists(zip_with(from_json(" ~ text ~ ", 'array<string>'), "
            ~ value ~ ", (part, item) -> "
            ~ alluvium._is_part_lost(alluvium._type_inside(data_type), "part", "item") ~ "), is_lost -> is_lost)"
        ) }}
    {%- elif base == "map" -%}
        {{ return(
            alluvium._begins_otherwise(text, "{") ~ " or exists(transform(map_entries(from_json(" ~ text
            ~ ", 'map<string,string>')), "
            ~ "entry -> struct(entry.value as part, " ~ value ~ "[entry.key] as item)), of_key -> "
            ~ alluvium._is_part_lost(alluvium._type_inside(data_type), "of_key.part", "of_key.item") ~ ")"
        ) }}
    {%- endif -%}
    {%- set patterns = {
        "date": "^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}$",
        "timestamp": alluvium._iso_timestamp_pattern() ~ "(Z|[+-][0-9]{2}:?[0-9]{2})$",
        "timestamp_ntz": alluvium._iso_timestamp_pattern() ~ "$",
    } -%}
    {{ return(
        "not " ~ text ~ " rlike '" ~ patterns[base] ~ "'" if base in patterns
        else alluvium._is_changed_value({"data_type": data_type}, text, value)
    ) }}
{% endmacro %}


{# from_json takes a list for a struct, and the other way round. #}
{% macro _begins_otherwise(text, bracket) %}
    {{ return("not startswith(ltrim(" ~ text ~ "), '" ~ bracket ~ "')") }}
{% endmacro %}


{% macro _is_part_lost(data_type, text, value) %}
    {%- set is_lost = alluvium._is_lost_inside(data_type, text, value) -%}
    {{ return("(" ~ text ~ " is not null and (" ~ value ~ " is null" ~ (" or " ~ is_lost if is_lost else "") ~ "))") }}
{% endmacro %}


{#
    A whole date and time, to the microsecond. Spark's cast takes far more and changes it in silence: it completes
    `2024` and `T12:30`, drops an offset that a type has no room for, and cuts nanoseconds off.
#}
{% macro _iso_timestamp_pattern() %}
    {{ return("^[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?") }}
{% endmacro %}
