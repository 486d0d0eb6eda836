{#
    What keeps the rows of a purged key (purge_rows) from coming back: a line that names such a key becomes a row of
    kind `purged`, without any value, whatever brings it: a late file, a file landed again, a full refresh. The ledger
    of purges has the keys as hashes; none is asked as long as there is no ledger, and the SQL of a log stays as it is
    where nothing of its table was purged. As {keys: a query for `_key_hash` and `until_position`, is_bounded: whether
    any key has the latter}; none without purged keys.
#}
{% macro _purge_filter(caller_name, feed) %}
    {#- From dbt's own list of relations, which costs no query. -#}
    {%- if not alluvium._may_query() or load_relation(alluvium._purge_ledger()) is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set purged = alluvium._query_rows(alluvium._purged_keys_of_feed_sql(feed)) -%}
    {%- for row in purged -%}
        {%- do alluvium._require_key_of_purge(caller_name, feed, row.key_columns) -%}
    {%- endfor -%}
    {%- if not purged -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if purged | sum(attribute="unfinished_count") -%}
        {%- do alluvium._warn(
            feed.name ~ ": a purge of " ~ purged | sum(attribute="unfinished_count")
            ~ " keys has not come to its end. No line of these keys is "
            ~ "read any more, but tables may hold their rows: run the same `dbt run-operation purge_rows` again"
        ) -%}
    {%- endif -%}
    {%- set is_bounded = purged | sum(attribute="bounded_count") > 0 -%}
    {{ return({"keys": alluvium._filtered_keys_sql(feed, is_bounded), "is_bounded": is_bounded}) }}
{% endmacro %}


{#
    Per declaration of the key: how many keys were purged, how many up to a position alone, how many of a purge that was
    killed.
#}
{% macro _purged_keys_of_feed_sql(feed) -%}
select
    array_join(key_columns, ', ') as key_columns,
    count(*) as key_count,
    count(until_position) as bounded_count,
    count_if(completed_at is null) as unfinished_count
from {{ alluvium._purge_ledger() }}
where {{ alluvium._is_purge_of(feed) }}
group by array_join(key_columns, ', ')
{%- endmacro %}


{# Each key once. Purged without a bound at any time means for ever. #}
{% macro _filtered_keys_sql(feed, is_bounded) -%}
select
    key_hash,
    {{
        "if(count(until_position) < count(*), null, max(until_position))" if is_bounded else "cast(null as string)"
    }} as until_position
from {{ alluvium._purge_ledger() }}
where {{ alluvium._is_purge_of(feed) }}
group by key_hash
{%- endmacro %}


{% macro _is_purge_of(feed) %}
    {{ return(
        "source = " ~ alluvium._string_literal(feed.source_name) ~ " and entity = "
        ~ alluvium._string_literal(feed.entity)
    ) }}
{% endmacro %}


{# Hashes of another key, or of values of another type, would find nothing, and what was purged would come back. #}
{% macro _require_key_of_purge(caller_name, feed, key_columns) %}
    {%- set declared = alluvium._key_columns_of_purge(feed) | join(", ") -%}
    {%- if key_columns != declared -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": source " ~ feed.name, "meta.cdc.key", declared or "[]",
            key_columns
            ~ ", as its keys were purged with; purge them again with the new key, then take the entries of the old one "
            "out of "
            ~ alluvium._purge_ledger()
        ) %}
    {%- endif -%}
{% endmacro %}


{# The columns of the key and what kind of values they have, in an order that does not depend on the declaration. #}
{% macro _key_columns_of_purge(feed) %}
    {%- set columns = [] -%}
    {%- for name in feed.key | sort(case_sensitive=true) -%}
        {%- set base = alluvium._base_type(alluvium._column_of(feed, name).data_type) -%}
        {%- do columns.append(
                name ~ " " ~ ("number" if base in ["tinyint", "smallint", "int", "bigint", "decimal"] else base)
            ) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{#
    The hash that stands for a key: of its values as texts that no session's time zone and no wider type changes, with
    the name of the table, so that equal keys of two tables do not look equal. `row` is the prefix of the key's columns.
#}
{% macro _key_hash(feed, row="") %}
    {%- set texts = [] -%}
    {%- for name in feed.key | sort(case_sensitive=true) -%}
        {%- do texts.append(
            alluvium._text_of_key_value(alluvium._column_of(feed, name), row ~ alluvium._quoted_identifier(name))
        ) -%}
    {%- endfor -%}
    {{ return(alluvium._hash_of_texts(feed, "array(" ~ texts | join(", ") ~ ")")) }}
{% endmacro %}


{# Of an array, because that keeps the places of its NULLs as JSON. #}
{% macro _hash_of_texts(feed, texts) %}
    {{ return("sha2(concat(" ~ alluvium._string_literal(feed.name ~ " ") ~ ", to_json(" ~ texts ~ ")), 256)") }}
{% endmacro %}


{# Equal values have equal texts: 1, 1.0 and 1.00. #}
{% macro _text_of_key_value(column, value) %}
    {%- set base = alluvium._base_type(column.data_type) -%}
    {%- if base == "decimal" and alluvium._decimal_scale(column.data_type) -%}
        {#- A cast would write 0.0000001 with an exponent (Spark 3.5.7). -#}
        {{ return(
            "rtrim('.', rtrim('0', replace(format_number(" ~ value ~ ", " ~ alluvium._decimal_scale(column.data_type)
            ~ "), ',', '')))"
        ) }}
    {%- endif -%}
    {{ return(alluvium._text_of_key(value, base)) }}
{% endmacro %}


{#
    The places of a line that may name a key, and the hash of each: the row image; in an envelope the other image, which
    differs where an update changes the key; in the store envelope the record's key, all that a tombstone has. NULL
    where the place has no whole key.
#}
{% macro _keys_of_lines(feed) -%}
-- Where a line may name a key.
key_images as (
    select
        *,
        {%- for name, image in alluvium._key_images(feed).items() %}
        {{ image }} as {{ name }}_image{{ "," if not loop.last }}
        {%- endfor %}
    from judged
),

keyed as (
    select
        *,
        {%- for name in alluvium._key_images(feed) %}
        {{ alluvium._key_hash_of_image(feed, name ~ "_image", name == "row_key") }} as {{ name }}_hash
        {{- "," if not loop.last }}
        {%- endfor %}
    from key_images
)
{%- endmacro %}


{# A line that is no record is looked through for the names of the key's columns: it may be half of one. #}
{% macro _key_images(feed) %}
    {%- set images = {
        "row_key": "case kind when 'change' then row_image when 'rejected' then coalesce(row_image, "
        ~ alluvium._key_image_in_text(feed, 0) ~ ") end"
    } -%}
    {%- if feed.shape == "envelope" -%}
        {%- do images.update({
            "other_key": "case when kind = 'change' or other_image is not null then other_image when kind = 'rejected' "
            "and row_image is null then "
            ~ alluvium._key_image_in_text(feed, 1) ~ " end"
        }) -%}
    {%- endif -%}
    {%- if feed.store_envelope -%}
        {%- do images.update(
            {
                "record_key": "if(kind in ('change', 'rejected', 'tombstone'), " ~ alluvium._key_image_of_record(feed)
                ~ ", null)"
            }
        ) -%}
    {%- endif -%}
    {{ return(images) }}
{% endmacro %}


{#
    The key's columns at their n-th mention in a text, each with its value up to where that ends; a value that is cut
    off is none.
#}
{% macro _key_image_in_text(feed, place) %}
    {%- set entries = [] -%}
    {%- for name in feed.key -%}
        {%- set pattern = '\\\\?"' ~ modules.re.escape(name)
            ~ '\\\\?"\\s*:\\s*("[^"]*"|\\\\"[^"\\\\]*\\\\"|[^\\s,}"\\[{\\\\]+)\\s*[,}]' -%}
        {%- set found =
            "get(regexp_extract_all(value, " ~ alluvium._string_literal(pattern) ~ ", 1), " ~ place ~ ")" -%}
        {%- do entries.append(
            alluvium._string_literal(name) ~ ", nullif(trim(both '\\\\\"' from " ~ found ~ "), 'null')"
        ) -%}
    {%- endfor -%}
    {{ return("map(" ~ entries | join(", ") ~ ")") }}
{% endmacro %}


{# The record's key in the store envelope, with and without a schema; of MongoDB's the text of the document's id. #}
{% macro _key_image_of_record(feed) %}
    {%- if feed.connector == "mongodb" -%}
        {{ return(alluvium._document_fields("concat('{\"_id\":', " ~ alluvium._document_key() ~ ", '}')")) }}
    {%- endif -%}
    {{ return(
        "from_json(coalesce(get_json_object(value, '$.key.payload'), get_json_object(value, '$.key')), "
        "'map<string,string>')"
    ) }}
{% endmacro %}


{% macro _key_hash_of_image(feed, image, has_numbers) -%}
    {%- set texts, conditions = [], [] -%}
    {%- for name in feed.key | sort(case_sensitive=true) -%}
        {%- set column = alluvium._column_of(feed, name) -%}
        {%- set text = image ~ "[" ~ alluvium._string_literal(name) ~ "]" -%}
        {%- do texts.append(
                alluvium._text_of_key_value(column, alluvium._key_value_of_image(feed, column, text, has_numbers))
            ) -%}
        {%- set has_value = "parts[" ~ loop.index0 ~ "] is not null" -%}
        {%- do conditions.append(
            "map_contains_key(" ~ image ~ ", " ~ alluvium._string_literal(name) ~ ") and (" ~ has_value ~ " or " ~ text
            ~ " is null)"
            if column.cdc.nullable else has_value
        ) -%}
    {%- endfor -%}
    transform(
            array(array({{ texts | join(", ") }})),
            parts -> if({{ conditions | join(" and ") }}, {{ alluvium._hash_of_texts(feed, "parts") }}, null)
        )[0]
{%- endmacro %}


{# Decoded as the column itself is; what its type does not hold is no value. #}
{% macro _key_value_of_image(feed, column, text, has_numbers) %}
    {%- if has_numbers and column.data_type.startswith("decimal") and alluvium._reads_json_numbers(feed) -%}
        {%- set text = "coalesce(number_image[" ~ alluvium._string_literal(column.name) ~ "], " ~ text ~ ")" -%}
    {%- endif -%}
    {%- set sent = alluvium._sent_text(column, feed, text) -%}
    {%- set value = alluvium._decode_value(column, feed, sent) -%}
    {%- set changed = alluvium._is_changed_value(column, sent, value) -%}
    {{ return("if(" ~ changed ~ ", null, " ~ value ~ ")" if changed else value) }}
{% endmacro %}


{# From `numbered` to `barred`, with `is_purged`. A key is in the ledger once, so no line is doubled. #}
{% macro _filtered_lines(feed) -%}
{%- set conditions = [] -%}
{%- for name in alluvium._key_images(feed) -%}
    {%- do conditions.append(alluvium._is_filtered(feed, "by_" ~ name)) -%}
{%- endfor -%}
-- The keys that were purged.
purged_keys as (
    {{ feed.purge_filter["keys"] | indent(4) }}
),

purge_checked as (
    select
        numbered.*,
        {{ conditions | join("\n        or ") }} as is_purged
    from numbered
    {%- for name in alluvium._key_images(feed) %}
    left join purged_keys as by_{{ name }} on numbered.{{ name }}_hash = by_{{ name }}.key_hash
    {%- endfor %}
)
{%- endmacro %}


{# What has no position may be of any time. #}
{% macro _is_filtered(feed, keys) %}
    {%- set condition = keys ~ ".key_hash is not null" -%}
    {%- if feed.purge_filter.is_bounded -%}
        {%- set condition = "(" ~ condition ~ " and coalesce("
            ~ alluvium._is_up_to(feed, "numbered.source_position", "numbered.op", keys ~ ".until_position")
            ~ ", true))" -%}
    {%- endif -%}
    {{ return(condition) }}
{% endmacro %}


{#
    Whether an event is one up to a position, or one of them sent again: in PostgreSQL its own lsn says so, too. A
    transaction that was open then has lsns from before as well, and counts as of before.
#}
{% macro _is_up_to(feed, position, op, until_position) %}
    {%- set condition = position ~ " <= " ~ until_position -%}
    {%- if feed.connector == "postgresql" -%}
        {%- set condition = condition ~ " or not " ~ op ~ " <=> 'r' and " ~ alluvium._own_lsn(position) ~ " <= "
            ~ alluvium._own_lsn(until_position) -%}
    {%- endif -%}
    {{ return(condition) }}
{% endmacro %}


{% macro _kind_of_line(feed) %}
    {%- if feed.purge_filter -%}
        {{ return("case when is_purged then 'purged' when reject_reason is null then kind else 'rejected' end") }}
    {%- endif -%}
    {{ return("if(reject_reason is null, kind, 'rejected')") }}
{% endmacro %}


{#
    An expression that may hold a value of the row. A row that is ignored leaves none, so there is nothing of it to
    purge.
#}
{% macro _unless_purged(feed, expression) %}
    {%- set conditions =
        (["is_purged"] if feed.purge_filter else []) + (["kind = 'ignored'"] if feed.ignore_rows else []) -%}
    {{ return("if(" ~ conditions | join(" or ") ~ ", null, " ~ expression ~ ")" if conditions else expression) }}
{% endmacro %}


{#
    Where a column orders the rows, their position and their time are its values. A row of a full dump has those of the
    dump, which stay: they say that there was one.
#}
{% macro _unless_values_order(feed, expression) %}
    {%- if not feed.sequence_by or not (feed.purge_filter or feed.ignore_rows) -%}
        {{ return(expression) }}
    {%- elif feed.full_dumps and feed.purge_filter -%}
        {{ return("if(is_purged and dump_time is null, null, " ~ expression ~ ")") }}
    {%- endif -%}
    {{ return(alluvium._unless_purged(feed, expression)) }}
{% endmacro %}
