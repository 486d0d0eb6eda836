{#
    The image before an update of a table without a key: nothing else says which row it replaced. Both images of such a
    record go through the same decoding and the same judgement as rows of their own, the image before like that of a
    delete, and are joined again into one row a record. With a key the image before is not needed. `numbered` has the
    rows of a record side by side; of the two common table expressions that this gives, the last is `joined`.
#}
{% macro _before_image(feed) -%}
images as (
    select
        *,
        lead(if(is_image_before, {{ alluvium._values_before(feed) | indent(8) }}, null))
            over (
                partition by file_path, file_length order by file_block_start, record_order, is_image_before
            ) as values_before
    from numbered
),

joined as (
    select
        *,
        coalesce(image_reject_reason, values_before.reject_reason) as reject_reason
    from images
    where not is_image_before
)
{%- endmacro %}


{% macro _keeps_before_images(feed) %}
    {{ return(not feed.key and feed.shape == "envelope") }}
{% endmacro %}


{% macro _values_before(feed) -%}
struct(
    image_reject_reason as reject_reason,
    struct(
        {%- for column in feed.columns %}
        {{ alluvium._value(column, feed) }} as {{ alluvium._quoted_identifier(column.name) }}
        {{- "," if not loop.last }}
        {%- endfor %}
    ) as image
)
{%- endmacro %}


{# Columns of their own, not a struct: dbt adds a column to the log that is declared later, a field it would not. #}
{% macro _before_columns(feed) -%}
    {%- set columns = [] -%}
    {%- for column in feed.columns -%}
        {%- do columns.append(
            "values_before.image." ~ alluvium._quoted_identifier(column.name) ~ " as "
            ~ alluvium._before_column(column.name)
        ) -%}
    {%- endfor -%}
    {{ columns | join(",\n") }}
{%- endmacro %}


{% macro _before_column(name) %}
    {{ return(alluvium._quoted_identifier("_cdc_before__" ~ name)) }}
{% endmacro %}


{# The record of one image, and the connector's own clock, which tells two records from one that was copied. #}
{% macro _record_of_image(feed) -%}
{%- set record = "$.value" if feed.store_envelope else "$" -%}
is_image_before,
if(is_image_before, 'd', record_op) as op,
if({{ alluvium._takes_before_image(feed) }}, record_before, record_after) as row_image,
try_cast(
    coalesce(get_json_object(value, '{{ record }}.payload.ts_ns'), get_json_object(value, '{{ record }}.ts_ns'))
    as bigint
) as connector_ts_ns
{%- endmacro %}


{% macro _takes_before_image(feed) %}
    {{ return("is_image_before or record_op = 'd'" if alluvium._keeps_before_images(feed) else "record_op = 'd'") }}
{% endmacro %}


{% macro _images_of_record() -%}
lateral view
    explode(if(record_op = 'u' and record_before is not null, array(false, true), array(false))) images
    as is_image_before
{%- endmacro %}


{#
    PostgreSQL sends a whole image before with REPLICA IDENTITY FULL only; MySQL's and MariaDB's connectors demand whole
    rows in the binlog. A flattened update has no image before at all. The detail says which it is.
#}
{% macro _misses_before_image(feed) %}
    {%- if alluvium._lacks_full_before_images(feed) -%}
        {{ return("op in ('u', 'd')") }}
    {%- endif -%}
    {{ return("op = 'u'" if feed.shape == "flattened" else "op = 'u' and image_before is null") }}
{% endmacro %}


{% macro _missing_before_image(feed) %}
    {%- if alluvium._lacks_full_before_images(feed) -%}
        {{ return(alluvium._string_literal("replica identity " ~ feed.replica_identity)) }}
    {%- endif -%}
    {{ return(alluvium._string_literal("flattened" if feed.shape == "flattened" else "no image before")) }}
{% endmacro %}
