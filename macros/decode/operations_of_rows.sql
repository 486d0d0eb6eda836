{#
    The operation of each row: an upsert, unless the feed's conditions say otherwise. They see the declared columns
    alone, under their own names and with their types; a condition that is NULL does not hold.
#}
{% macro _operations_of_rows(feed) -%}
-- What the conditions of the feed say of each row.
conditions as (
    select
        *,
        (
            select
                struct(
                    coalesce({{ feed.apply_as_deletes or "false" }}, false) as is_delete,
                    coalesce({{ feed.apply_as_truncates or "false" }}, false) as is_truncate,
                    coalesce({{ feed.ignore_rows or "false" }}, false) as is_ignored
                )
            from (
                select
                    {%- for column in alluvium._declared_columns(feed) %}
                    typed.{{ alluvium._value(column, feed) }} as {{ alluvium._quoted_identifier(column.name) }}
                    {{- "," if not loop.last }}
                    {%- endfor %}
            ) as declared
        ) as said
    from typed
),

operations as (
    select
        *,
        case
            when record_kind <> 'change' or said.is_ignored then null
            when said.is_truncate then 't'
            when said.is_delete then 'd'
            {%- if feed.full_dumps %}
            when dump_time is not null then 'r'
            {%- endif %}
            else 'u'
        end as op,
        case
            when record_kind <> 'change' then record_kind
            when said.is_ignored then 'ignored'
            when said.is_truncate then 'truncate'
            else 'change'
        end as kind,
        {{ alluvium._time_of_row(feed) }} as source_ts
    from conditions
)
{%- endmacro %}


{# When a row was written: as the columns that order the rows have it; of a row of a full dump, when that was begun. #}
{% macro _time_of_row(feed) %}
    {%- set by_sequence = alluvium._time_of_sequence(feed) -%}
    {%- if not feed.full_dumps -%}
        {{ return(by_sequence) }}
    {%- endif -%}
    {{ return("if(dump_time is null, " ~ by_sequence ~ ", timestamp_micros(" ~ alluvium._micros_of_dump(feed) ~ "))") }}
{% endmacro %}


{# The first of the columns that order the rows that is a time; a local one is taken as UTC. #}
{% macro _time_of_sequence(feed) %}
    {%- for name in feed.sequence_by or [] -%}
        {%- set column = alluvium._column_of(feed, name) -%}
        {%- if column.data_type in ["timestamp", "timestamp_ntz"] -%}
            {{ return("timestamp_micros(" ~ alluvium._whole_number(column, alluvium._value(column, feed)) ~ ")") }}
        {%- endif -%}
    {%- endfor -%}
    {{ return("cast(null as timestamp)") }}
{% endmacro %}
