{#
    From `records` to `numbered`: what each line says, typed, judged and with its number; where keys were purged, with
    the keys that it names.
#}
{% macro _numbered_lines(feed, line, keys_of_lines) -%}
-- The line as JSON, before an object that says how long the line is: only where exactly one value is on the line, that
-- object is the second element. Spark reads an array up to its end and no further.
parsed as (
    select
        *,
        from_json(
            {{ alluvium._with_line_length(alluvium._with_quoted_constants("value")) }},
            'array<{{ alluvium._record_type(feed) }}>',
            {{ alluvium._json_options(["allowSingleQuotes", "allowNonNumericNumbers"]) }}
        ) as lines
        {%- if alluvium._reads_json_numbers(feed) %},
        -- Numbers as texts, digit by digit.
        from_json(
            concat('[', {{ alluvium._numbers_as_texts(alluvium._with_quoted_constants("value")) }}, ']'),
            'array<{{ alluvium._record_type(feed) }}>',
            {{ alluvium._json_options(["allowSingleQuotes", "allowNonNumericNumbers"]) }}
        ) as number_lines
        {%- endif %}
    from records
),

-- What the record says of itself, whatever its shape.
{{ alluvium._recognise(feed) }},

{{ alluvium._typed_values(feed) }},
{%- if feed.shape == "row" %}

{{ alluvium._operations_of_rows(feed) }},

-- Where the row says that its change lies in the order.
placed as (
    select
        *,
        {{ alluvium._source_position(feed) | indent(8) }} as source_position
    from operations
),
{%- endif %}

-- The verdict on each row.
verdicts as (
    select
        *,
        {{ alluvium._reject_reason(feed) | indent(8) }} as verdict
    from {{ "placed" if feed.shape == "row" else "typed" }}
),

-- Messages of another tool by their name.
judged as (
    select
        *,
        {{ alluvium._foreign_message(feed) | indent(8) }} as {{
            "image_reject_reason" if alluvium._keeps_before_images(feed) else "reject_reason"
        }}
    from verdicts
),
{%- if keys_of_lines %}

{{ keys_of_lines }},
{%- endif %}

numbered as (
    select
        *,
        {{ line }} as line
    from {{ "keyed" if keys_of_lines else "judged" }}
)
{%- endmacro %}


{% macro _with_line_length(json) %}
    {{ return("concat('[', " ~ json ~ ", ',{\"line_length\":', octet_length(value), '}]')") }}
{% endmacro %}


{% macro _typed_values(feed) -%}
-- The record's texts in the order of the declared columns, and how its columns differ from these.
sent as (
    select
        *,
        {{ alluvium._row_values("row_image", feed) | indent(8) }} as row_values,
        {%- if alluvium._reads_json_numbers(feed) %}
        {{ alluvium._row_values("number_image", feed) | indent(8) }} as number_values,
        {%- endif %}
        {%- for constant in alluvium._places_of_sets(feed) %}
        {{ constant }},
        {%- endfor %}
        {{ alluvium._unknown_columns(feed) }} as unknown_columns,
        {{ alluvium._absent_columns(feed) }} as absent_columns
    from recognised
),

-- Whose values the source has not sent, and texts that say a value in another way than SQL does.
texts as (
    select
        *,
        {%- for column in alluvium._columns_to_decode(feed) if alluvium._has_own_text(column, feed) %}
        {%- set text = alluvium._column_text(column, feed) %}
        {{ alluvium._of_each(column, text) ~ " as texts__" ~ column.number if column.names
            else text ~ " as " ~ alluvium._text_of(column.name) }},
        {%- endfor %}
        {{ alluvium._unavailable_columns(feed) | indent(8) }} as unavailable_columns
    from sent
),

-- Each column's value{{
    "" if feed.shape == "row" else ", and where the record says that its change lies in the order"
}}.
typed as (
    select
        *,
        {%- if feed.shape != "row" %}
        {#- Here, as Spark (3.5.7) takes seven passes more to resolve one more query on top of another. #}
        {{ alluvium._source_position(feed) | indent(8) }} as source_position,
        {%- endif %}
        {%- for column in alluvium._columns_to_decode(feed) %}
        {{ alluvium._of_each(column, alluvium._decode_column(column, feed)) ~ " as values__" ~ column.number
            if column.names else alluvium._decode_column(column, feed) ~ " as " ~ alluvium._value_of(column.name)
        }}{{ "," if not loop.last }}
        {%- endfor %}
    from texts
)
{%- endmacro %}


{#
    Exact line numbers whatever Spark made of the file: the block's start and the row's place in its task increase
    along a file, also when it is split (checked with 300 kB splits on 3.5.7). Records of containers carry theirs.
#}
{% macro _line_number(feed) -%}
    {%- if feed.format == "json" -%}
        {{ "dense_rank" if alluvium._keeps_before_images(feed) else "row_number" }}() over (
            partition by file_path, file_length order by file_block_start, record_order
        )
    {%- else -%}
        record_order
    {%- endif -%}
{%- endmacro %}
