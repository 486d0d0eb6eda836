{% macro _create_purge_ledger_sql(ledger) -%}
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
{{ alluvium._create_ledger_sql(ledger, columns) }}
{%- endmacro %}


{#
    A purge that was killed goes on with the bound that it began with; one that has come to its end and is asked for
    again begins anew.
#}
{% macro _record_purge_sql(feed, hashes, until_position, request) -%}
    merge into {{ alluvium._purge_ledger() }} as ledger
    using (
        select explode({{ alluvium._literal_array(hashes) }}) as key_hash
    ) as requested
    on {{ alluvium._is_purge_of(feed) }} and ledger.key_hash = requested.key_hash
    when matched and ledger.completed_at is not null
        then update set
            until_position = {{
                "if(ledger.until_position is null, null, " ~ alluvium._string_literal(until_position) ~ ")"
                if until_position else "null"
            }},
            requested_at = current_timestamp(),
            requested_by = {{ alluvium._literal_or_null(request.requested_by) }},
            reason = {{ alluvium._literal_or_null(request.reason) }},
            completed_at = null
    when not matched
        then insert (source, entity, key_columns, key_hash, until_position, requested_at, requested_by, reason)
        values (
            {{ alluvium._string_literal(feed.source_name) }},
            {{ alluvium._string_literal(feed.entity) }},
            {{ alluvium._literal_array(alluvium._key_columns_of_purge(feed)) }},
            requested.key_hash,
            {{ alluvium._literal_or_null(until_position) }},
            current_timestamp(),
            {{ alluvium._literal_or_null(request.requested_by) }},
            {{ alluvium._literal_or_null(request.reason) }}
        )
{%- endmacro %}


{% macro _complete_purge_sql(feed) -%}
    merge into {{ alluvium._purge_ledger() }} as ledger
    using alluvium_purged_keys as purged
    on {{ alluvium._is_purge_of(feed) }} and ledger.key_hash = purged.key_hash
    when matched and ledger.completed_at is null
        then update set completed_at = current_timestamp()
{%- endmacro %}


{# How many of the keys a purge named that was killed. #}
{% macro _unfinished_purges_sql(feed, hashes) -%}
    select count(*) as key_count
    from {{ alluvium._purge_ledger() }}
    where
        {{ alluvium._is_purge_of(feed) }}
        and array_contains({{ alluvium._literal_array(hashes) }}, key_hash)
        and completed_at is null
{%- endmacro %}
