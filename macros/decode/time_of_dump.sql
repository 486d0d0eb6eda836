{#
    The moment of a full dump that lies among the files of a feed of rows, from its path; NULL for a file that is none.
    A dump is taken as a snapshot of the whole table: its rows lie at one place in the order of `sequence_by`, that of
    its moment less `delay_seconds`, and a row that lies below and that the dump does not have is gone. So a query-based
    feed, which sees no deletes, has them at the next dump, in any order of arrival. Their time is that place, too: with
    their own ones the versions of a history, which follow the positions, could end before they begin.
    `meta.cdc.full_dumps` has the path as a regular expression whose one group says when, from the year to the second. A
    folder's name has a colon as %3A, which the path, an URI, has as %253A. What does not look like a time from its
    beginning to its end is none: seconds since 1970, a year of two digits, a month of one, an offset.
#}
{% macro _time_of_dump(feed) -%}
    {%- set path = alluvium._string_literal(feed.full_dumps.path) -%}
    {%- set text = "regexp_replace(regexp_extract(file_path, " ~ path ~ ", 1), '%(25)*[0-9A-Fa-f]{2}', ':')" -%}
    {%- set time = "([-_.:T ]?[0-9]{2}([-_.:]?[0-9]{2}([-_.:]?[0-9]{2}([.][0-9]+)?)?)?)?" -%}
    if(
            {{ text }} rlike '^(19|20|21)[0-9]{2}[-_.]?[0-9]{2}[-_.]?[0-9]{2}{{ time }}Z?$',
            try_cast(regexp_replace(
                rpad(regexp_replace({{ text }}, '[^0-9]', ''), 14, '0'),
                '^(.{4})(..)(..)(..)(..)(..)$',
                '$1-$2-$3 $4:$5:$6'
            ) as timestamp_ntz),
            null
        )
{%- endmacro %}


{#
    One part of the position of a feed that has dumps: the first is the moment, the others are below any row's. Any line
    of a dump has its place, a broken one, too: it keeps that dump from deleting. A dump whose path does not say when it
    was taken has none.
#}
{% macro _position_in_dump(feed, column, of_row) -%}
    {%- set is_first = column.name == feed.sequence_by[0] -%}
    {%- set of_dump = alluvium._sortable_number(alluvium._micros_of_dump(feed), 19) if is_first
        else "'" ~ "0" * alluvium._sortable_width(column) ~ "'" -%}
    case when dump_time is not null then {{ of_dump }} when snapshot is null then {{ of_row }} end
{%- endmacro %}


{# Where a dump lies in time: what was changed later may not have been committed when it was taken. #}
{% macro _micros_of_dump(feed) %}
    {{ return(
        "(" ~ alluvium._whole_number({"data_type": "timestamp_ntz"}, "dump_time") ~ " - "
        ~ feed.full_dumps.delay_seconds ~ " * 1000000)"
    ) }}
{% endmacro %}


{# The texts with their dots. #}
{% macro _declared_position_length(feed) %}
    {%- set length = namespace(value=-1) -%}
    {%- for name in feed.sequence_by or [] if feed.full_dumps -%}
        {%- set length.value = length.value + 1 + alluvium._sortable_width(alluvium._column_of(feed, name)) -%}
    {%- endfor -%}
    {{ return([length.value, 0] | max) }}
{% endmacro %}
