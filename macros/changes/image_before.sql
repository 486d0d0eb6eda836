{#
    The image before an update of a table without a key: nothing else says which row it replaced. Both images of such a record go through the
    same decoding and the same judgement as rows of their own, the image before like that of a delete, and are joined again
    into one row a record. With a key the image before is not needed.
    `numbered` has the rows of a record side by side; of the two common table expressions that this gives, the last is `joined`.
#}
{% macro image_before(feed) -%}
images as (
    select
        *,
        lead(if(is_image_before, {{ alluvium.values_before(feed) | indent(8) }}, null))
            over (partition by file_path, file_length order by file_block_start, record_order, is_image_before) as values_before
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


{% macro keeps_images_before(feed) %}
    {{ return(not feed.key and feed.shape == "envelope") }}
{% endmacro %}


{% macro values_before(feed) -%}
struct(
    image_reject_reason as reject_reason,
    struct(
        {%- for column in feed.columns %}
        {{ alluvium.value_of(column.name) }} as {{ alluvium.quoted_identifier(column.name) }}{{ "," if not loop.last }}
        {%- endfor %}
    ) as image
)
{%- endmacro %}


{# Columns of their own, not a struct: dbt adds a column to the log that is declared later, a field it would not. #}
{% macro columns_before(feed) -%}
    {%- set columns = [] -%}
    {%- for column in feed.columns -%}
        {%- do columns.append("values_before.image." ~ alluvium.quoted_identifier(column.name) ~ " as " ~ alluvium.before_of(column.name)) -%}
    {%- endfor -%}
    {{ columns | join(",\n") }}
{%- endmacro %}


{% macro before_of(name) %}
    {{ return(alluvium.quoted_identifier("_cdc_before__" ~ name)) }}
{% endmacro %}


{# The record of one image, and the connector's own clock, which tells two records from one that was copied. #}
{% macro record_of_image(feed) -%}
{%- set record = "$.value" if feed.store_envelope else "$" -%}
is_image_before,
if(is_image_before, 'd', record_op) as op,
if({{ alluvium.takes_image_before(feed) }}, record_before, record_after) as row_image,
try_cast(coalesce(get_json_object(value, '{{ record }}.payload.ts_ns'), get_json_object(value, '{{ record }}.ts_ns')) as bigint) as connector_ts_ns
{%- endmacro %}


{% macro takes_image_before(feed) %}
    {{ return("is_image_before or record_op = 'd'" if alluvium.keeps_images_before(feed) else "record_op = 'd'") }}
{% endmacro %}


{% macro images_of_record() -%}
lateral view explode(if(record_op = 'u' and record_before is not null, array(false, true), array(false))) images as is_image_before
{%- endmacro %}


{#
    PostgreSQL sends a whole image before with REPLICA IDENTITY FULL only; MySQL's and MariaDB's connectors demand whole rows in the
    binlog. A flattened update has no image before at all. The detail says which it is.
#}
{% macro misses_image_before(feed) %}
    {%- if alluvium.has_no_whole_image_before(feed) -%}
        {{ return("op in ('u', 'd')") }}
    {%- endif -%}
    {{ return("op = 'u'" if feed.shape == "flattened" else "op = 'u' and image_before is null") }}
{% endmacro %}


{% macro missing_image_before(feed) %}
    {%- if alluvium.has_no_whole_image_before(feed) -%}
        {{ return(alluvium.string_literal("replica identity " ~ feed.replica_identity)) }}
    {%- endif -%}
    {{ return(alluvium.string_literal("flattened" if feed.shape == "flattened" else "no image before")) }}
{% endmacro %}


{# Of no event there is a whole one. #}
{% macro has_no_whole_image_before(feed) %}
    {{ return(feed.connector == "postgresql" and feed.replica_identity in ["default", "index", "nothing"]) }}
{% endmacro %}
