{#
    The moment of a full dump that lies among the files of a feed of rows, from its path; NULL for a file that is none. A dump is
    taken as a snapshot of the whole table: its rows lie at one place in the order of `sequence_by`, that of its moment
    less `delay_seconds`, and a row that lies below and that the dump does not have is gone. So a query-based feed, which sees
    no deletes, has them at the next dump, in any order of arrival. Their time is that place, too: with their own ones the versions of
    a history, which follow the positions, could end before they begin.
    `meta.cdc.full_dumps` has the path as a regular expression whose one group says when, from the year to the second.
    A folder's name has a colon as %3A, which the path, an URI, has as %253A. What does not look like a time from its beginning to
    its end is none: seconds since 1970, a year of two digits, a month of one, an offset.
#}
{% macro time_of_dump(feed) -%}
    {%- set path = alluvium.string_literal(feed.full_dumps.path) -%}
    {%- set text = "regexp_replace(regexp_extract(file_path, " ~ path ~ ", 1), '%(25)*[0-9A-Fa-f]{2}', ':')" -%}
    if(
            {{ text }} rlike '^(19|20|21)[0-9]{2}[-_.]?[0-9]{2}[-_.]?[0-9]{2}([-_.:T ]?[0-9]{2}([-_.:]?[0-9]{2}([-_.:]?[0-9]{2}([.][0-9]+)?)?)?)?Z?$',
            try_cast(regexp_replace(
                rpad(regexp_replace({{ text }}, '[^0-9]', ''), 14, '0'),
                '^(.{4})(..)(..)(..)(..)(..)$',
                '$1-$2-$3 $4:$5:$6'
            ) as timestamp_ntz),
            null
        )
{%- endmacro %}


{#
    One part of the position of a feed that has dumps: the first is the moment, the others are below any row's. Any line of a dump has its place, a broken one, too:
    it keeps that dump from deleting. A dump whose path does not say when it was taken has none.
#}
{% macro position_in_dump(feed, column, of_row) -%}
    {%- set is_first = column.name == feed.sequence_by[0] -%}
    {%- set of_dump = alluvium.sortable_number(alluvium.micros_of_dump(feed), 19) if is_first else "'" ~ "0" * alluvium.sortable_width(column) ~ "'" -%}
    case when dump_time is not null then {{ of_dump }} when snapshot is null then {{ of_row }} end
{%- endmacro %}


{# Where a dump lies in time: what was changed later may not have been committed when it was taken. #}
{% macro micros_of_dump(feed) %}
    {{ return("(" ~ alluvium.whole_number({"data_type": "timestamp_ntz"}, "dump_time") ~ " - " ~ feed.full_dumps.delay_seconds ~ " * 1000000)") }}
{% endmacro %}


{# Of the text that sortable_text gives. #}
{% macro sortable_width(column) %}
    {{ return(alluvium.decimal_precision(column.data_type) + 2 if column.data_type.startswith("decimal") else 20) }}
{% endmacro %}


{# The texts with their dots. #}
{% macro declared_position_length(feed) %}
    {%- set length = namespace(value=-1) -%}
    {%- for name in feed.sequence_by or [] if feed.full_dumps -%}
        {%- set length.value = length.value + 1 + alluvium.sortable_width(alluvium.column_of(feed, name)) -%}
    {%- endfor -%}
    {{ return([length.value, 0] | max) }}
{% endmacro %}


{% macro require_full_dumps(subject, feed) %}
    {%- set subject = subject ~ ": meta.cdc.full_dumps" -%}
    {%- set dumps = feed.full_dumps -%}
    {%- if dumps is not mapping or dumps.path is not string -%}
        {% do alluvium.raise_invalid(subject, "path", dumps, "{path: <regular expression with one group>, delay_seconds: <number>}") %}
    {%- endif -%}
    {%- for option in dumps -%}
        {% do alluvium.require_one_of(subject, "option", option, ["path", "delay_seconds"]) %}
    {%- endfor -%}
    {%- if modules.re.compile(dumps.path).groups != 1 or "(?P" in dumps.path -%}
        {% do alluvium.raise_invalid(subject, "path", dumps.path, "a regular expression with one group (without a name), the time of the dump, such as `/full/([^/]+)/`") %}
    {%- endif -%}
    {%- if dumps.get("delay_seconds") is not integer or dumps.delay_seconds < 0 -%}
        {% do alluvium.raise_invalid(subject, "delay_seconds", dumps.get("delay_seconds"), "how many seconds a transaction of the source may be open, such as 60") %}
    {%- endif -%}
    {%- do alluvium.require_order_for_dumps(subject, feed) -%}
{% endmacro %}


{# What says at which place among the rows a dump was taken. #}
{% macro require_order_for_dumps(subject, feed) %}
    {%- if feed.shape != "row" or not feed.sequence_by -%}
        {% do alluvium.raise_invalid(subject, "feed", feed.shape ~ " without sequence_by", "a feed of rows with sequence_by; Debezium's snapshots say themselves what they are") %}
    {%- endif -%}
    {%- for name in feed.sequence_by -%}
        {%- set type = alluvium.base_type(alluvium.column_of(feed, name).data_type) -%}
        {%- set allowed = alluvium.sortable_types() | reject("equalto", "string") | list if loop.index0 else ["timestamp", "timestamp_ntz"] -%}
        {% do alluvium.require_one_of(subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", type, allowed) %}
    {%- endfor -%}
    {%- if feed.ignored_null_columns -%}
        {% do alluvium.raise_invalid(subject, "ignored NULLs of", feed.ignored_null_columns, "none: a dump says what is NULL") %}
    {%- endif -%}
{% endmacro %}
