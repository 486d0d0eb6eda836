{#
    Which keys of which tables were purged (purge_rows): the barrier that keeps their rows from coming back asks it. It has no value of a key, only a
    hash; who knows the possible keys can still tell which of them it is. Made by the first purge.
#}
{% macro purge_ledger() %}
    {{ return(api.Relation.create(schema=var("alluvium_ledger_schema", target.schema), identifier="cdc_purge_ledger")) }}
{% endmacro %}


{% macro create_purge_ledger_sql(ledger) -%}
{%- set columns -%}
source string,
entity string comment 'table of the source',
key_columns array<string> comment 'columns of the key, with the kind of their values',
key_hash string comment 'SHA-256 of the key',
until_position string comment 'position of the newest event that is purged; NULL for all, also those to come',
requested_at timestamp,
requested_by string,
reason string,
completed_at timestamp comment 'NULL until the rows are out of all tables'
{%- endset -%}
{{ alluvium.create_ledger_sql(ledger, columns) }}
{%- endmacro %}


{# A purge that was killed goes on with the bound that it began with; one that has come to its end and is asked for again begins anew. #}
{% macro record_purge_sql(feed, hashes, until_position, request) -%}
    merge into {{ alluvium.purge_ledger() }} as ledger
    using (
        select explode({{ alluvium.literal_array(hashes) }}) as key_hash
    ) as requested
    on {{ alluvium.is_purge_of(feed) }} and ledger.key_hash = requested.key_hash
    when matched and ledger.completed_at is not null
        then update set
            until_position = {{ "if(ledger.until_position is null, null, " ~ alluvium.string_literal(until_position) ~ ")" if until_position else "null" }},
            requested_at = current_timestamp(),
            requested_by = {{ alluvium.literal_or_null(request.requested_by) }},
            reason = {{ alluvium.literal_or_null(request.reason) }},
            completed_at = null
    when not matched
        then insert (source, entity, key_columns, key_hash, until_position, requested_at, requested_by, reason)
        values (
            {{ alluvium.string_literal(feed.source_name) }},
            {{ alluvium.string_literal(feed.entity) }},
            {{ alluvium.literal_array(alluvium.key_columns_of_purge(feed)) }},
            requested.key_hash,
            {{ alluvium.literal_or_null(until_position) }},
            current_timestamp(),
            {{ alluvium.literal_or_null(request.requested_by) }},
            {{ alluvium.literal_or_null(request.reason) }}
        )
{%- endmacro %}


{% macro complete_purge_sql(feed) -%}
    merge into {{ alluvium.purge_ledger() }} as ledger
    using alluvium_purged_keys as purged
    on {{ alluvium.is_purge_of(feed) }} and ledger.key_hash = purged.key_hash
    when matched and ledger.completed_at is null
        then update set completed_at = current_timestamp()
{%- endmacro %}


{# How many of the keys a purge named that was killed. #}
{% macro unfinished_purges_sql(feed, hashes) -%}
    select count(*) as key_count
    from {{ alluvium.purge_ledger() }}
    where
        {{ alluvium.is_purge_of(feed) }}
        and array_contains({{ alluvium.literal_array(hashes) }}, key_hash)
        and completed_at is null
{%- endmacro %}


{% macro literal_or_null(text) %}
    {{ return("cast(null as string)" if text is none else alluvium.string_literal(text)) }}
{% endmacro %}
