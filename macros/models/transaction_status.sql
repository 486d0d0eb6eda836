{#
    Which transactions of the source have arrived whole in some change logs: one row per transaction that Debezium
    counted (`provide.transaction.metadata`), complete once every log has as many of its events as its END marker says.
    A transaction that has no END, as the statements have that MariaDB commits by itself (ALTER, TRUNCATE), is over
    there when another has begun. Once complete a transaction stays so: it may be delivered again. What the logs show of
    complete ones alone is in complete_transactions.
    The whole body of a model of its own:
    {{ transaction_status(ref('stg_shop__transaction'), [ref('stg_shop__orders'), ref('stg_shop__order_items')]) }}
#}
{% macro transaction_status(markers, change_logs) %}
    {%- if not execute -%}
        {%- do alluvium._set_model("transaction_status") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set subject = "transaction_status: model " ~ model.name -%}
    {%- do alluvium._require_incremental("transaction_status", "merge") -%}
    {%- do alluvium._require_one_of(
        subject, "unique_key", alluvium._own_config().get("unique_key"), ["transaction_id"]
    ) -%}
    {%- do alluvium._require_kind_of_input("transaction_status", "markers", markers, ["change_log"]) -%}
    {%- for relation in change_logs -%}
        {%- do alluvium._require_kind_of_input("transaction_status", "change_logs", relation, ["change_log"]) -%}
    {%- endfor -%}
    {%- do alluvium._require_marker_columns(subject, markers) -%}
    {%- set logs = [] -%}
    {%- for relation in change_logs -%}
        {%- set feed = alluvium._feed_of_transactions(relation) -%}
        {%- do logs.append({
            "relation": relation, "feed": feed, "batches": alluvium._pending_batches(relation),
            "counted_as": [relation.render(), feed.data_collection]
        }) -%}
    {%- endfor -%}
    {%- set connectors = logs | map(attribute="feed.connector") | unique | list -%}
    {%- if connectors | length != 1 -%}
        {% do alluvium._raise_invalid(
            subject, "connectors of the change logs", connectors, "one: transactions are those of one database"
        ) %}
    {%- endif -%}
    {%- set counted = [markers.render()] + logs | map(attribute="counted_as") | list -%}
    {#- What was counted for other tables, or under other names, does not say what is whole for these. -#}
    {%- do alluvium._require_same_options(subject, "the logs with their data_collection", counted, counted) -%}
    {%- set batches = alluvium._pending_batches(markers) -%}
    {%- set open_from = alluvium._oldest_incomplete_position(this) if batches and is_incremental() else none -%}
    {{ return(alluvium._whole_body(
        alluvium._transaction_status_sql({"relation": markers, "batches": batches}, logs, open_from)
    )) }}
{% endmacro %}


{% macro _require_marker_columns(subject, markers) %}
    {%- set names = alluvium._feed_of_relation("transaction_status", markers).columns | map(attribute="name") | list -%}
    {%- for name in ["id", "status", "data_collections"] -%}
        {%- do alluvium._require_one_of(
                subject ~ ": " ~ markers.identifier, "a column of the transaction topic", name, names
            ) -%}
    {%- endfor -%}
{% endmacro %}


{# The feed of a change log whose events the markers count. #}
{% macro _feed_of_transactions(change_log) %}
    {%- set feed = alluvium._feed_of_relation("transaction_status", change_log) -%}
    {%- set subject = "transaction_status: source " ~ feed.name -%}
    {%- if not feed.data_collection -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.data_collection", feed.data_collection,
            "the table's name in Debezium's END markers, such as public.orders"
        ) %}
    {%- elif alluvium._has_declared_order(feed) -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.order_by", feed.order_by,
            "the connector's own position: another does not order the transactions of several tables"
        ) %}
    {%- endif -%}
    {%- if feed.connector == "postgresql" and feed.shape == "flattened" and alluvium._is_run() -%}
        {%- do alluvium._require_commit_order(subject, change_log) -%}
    {%- endif -%}
    {{ return(feed) }}
{% endmacro %}


{#
    A flattened feed that has the lsn alone takes it twice, and that does not order transactions that interleave. No
    record says which fields were asked for, but of a thousand events some follow another transaction at a distance.
#}
{% macro _require_commit_order(subject, change_log) %}
    {%- set found = alluvium._query_rows(alluvium._commit_order_sql(change_log))[0] -%}
    {%- if found.event_count and not found.has_sequence -%}
        {% do alluvium._raise_invalid(
            subject, "add.fields of the connector", "without source.sequence, as " ~ change_log ~ " looks",
            "source.sequence, too: the lsn alone does not order transactions"
        ) %}
    {%- endif -%}
{% endmacro %}


{% macro _commit_order_sql(change_log) -%}
    select
        count(*) as event_count,
        max(left(_cdc_position, 20) <> substring(_cdc_position, 22, 20)) as has_sequence
    from (
        select _cdc_position
        from {{ change_log }}
        where
            _cdc_transaction_order is not null
            and _cdc_position is not null
        limit 1000
    ) as events
{%- endmacro %}


{# Position of the first event that has come of a transaction that is not whole; none where all are. #}
{% macro _oldest_incomplete_position(status) %}
    {%- set rows =
        alluvium._query_rows("select min(first_position) as position from " ~ status ~ " where not is_complete") -%}
    {{ return(rows[0].position if rows else none) }}
{% endmacro %}


{% macro _transaction_status_sql(markers, logs, open_from) -%}
{%- set connector = logs[0].feed.connector -%}
with
-- What the markers say that the table has not applied.
marked as (
    {{ alluvium._marked_transactions(markers, logs, connector) | indent(4) }}
),

-- Events that the new batches bring, and all of the transactions that are still open.
events as (
    {%- for log in logs %}
    {{ alluvium._events_of_transactions(log, connector, open_from) | indent(4) }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

arrived as (
    select
        transaction_id,
        min(first_position) as first_position,
        map_from_entries(collect_list(struct(data_collection, event_count))) as arrived
    from (
        select
            transaction_id,
            data_collection,
            min(_cdc_position) as first_position,
            -- Each event once, however often it was delivered.
            count(distinct _cdc_transaction_order) as event_count
        from events
        group by transaction_id, data_collection
    ) as counted
    group by transaction_id
),

known as (
    {{ alluvium._known_transactions() | indent(4) }}
),

transactions as (
    select
        coalesce(marked.transaction_id, arrived.transaction_id) as transaction_id,
        arrived.first_position,
        coalesce(marked.marker_position, known.marker_position) as marker_position,
        coalesce(marked.expected, known.expected) as expected,
        coalesce(arrived.arrived, known.arrived) as arrived
    from marked
    full outer join arrived on marked.transaction_id = arrived.transaction_id
    left join known on coalesce(marked.transaction_id, arrived.transaction_id) = known.transaction_id
    where not coalesce(known.is_complete, false)
    union all
    -- Open ones that nothing new is about may be over now, because another has begun.
    select transaction_id, first_position, marker_position, expected, arrived
    from known
    where
        not is_complete
        and not exists (select 1 from marked where marked.transaction_id = known.transaction_id)
        and not exists (select 1 from arrived where arrived.transaction_id = known.transaction_id)
)

{{ alluvium._judged_transactions(connector) }}
{%- if markers.batches %}
union all
{{ alluvium._applied_logs(logs) }}
{%- endif %}
{%- endmacro %}


{#
    How far the logs are counted, as a row without a name: it commits with the transactions, so that nobody reads the
    ones without the other. In `arrived` the newest batch of each log.
#}
{% macro _applied_logs(logs) -%}
{%- set batches = [] -%}
{%- for log in logs -%}
    {%- do batches.append(
            alluvium._string_literal(log.relation.identifier) ~ ", cast(" ~ log.batches.until ~ " as bigint)"
        ) -%}
{%- endfor -%}
select
    '' as transaction_id,
    true as is_complete,
    cast(array() as array<string>) as missing_from,
    cast(null as map<string, bigint>) as expected,
    map({{ batches | join(", ") }}) as arrived,
    cast(null as string) as first_position,
    cast(null as string) as marker_position
{%- endmacro %}


{#
    What is whole, and what misses. An event of a table that the END does not count is of a table that is declared under
    another name. Without counts a transaction of a binlog is whole when it is over; the newest marker says whether
    another has begun.
#}
{% macro _judged_transactions(connector) -%}
select
    transaction_id,
    {%- if connector in ["mysql", "mariadb"] %}
    (
        expected is not null
        or coalesce(marker_position < (
            select max(marker_position)
            from (select marker_position from marked union all select marker_position from known) as markers
        ), false)
    )
    {%- else %}
    expected is not null
    {%- endif %}
    and size(missing_from) = 0 as is_complete,
    missing_from,
    expected,
    arrived,
    first_position,
    marker_position
from (
    select
        *,
        coalesce(filter(
            array_union(map_keys(expected), coalesce(map_keys(arrived), array())),
            name -> coalesce(coalesce(arrived[name], 0) < expected[name], true)
        ), array()) as missing_from
    from transactions
) as counted
{%- endmacro %}


{# The transactions that the table has; nothing before it is built. #}
{% macro _known_transactions() -%}
select transaction_id, is_complete, first_position, marker_position, expected, arrived
from {% if this and is_incremental() -%}
{{ this }}
{%- else -%}
(
    select
        cast(null as string) as transaction_id,
        false as is_complete,
        cast(null as string) as first_position,
        cast(null as string) as marker_position,
        cast(null as map<string, bigint>) as expected,
        cast(null as map<string, bigint>) as arrived
) as no_transaction
where false
{%- endif %}
{%- endmacro %}


{# The counts of the tables that are asked about. #}
{% macro _marked_transactions(markers, logs, connector) -%}
{%- set collections = alluvium._literal_array(logs | map(attribute="feed.data_collection")) -%}
select
    {{ alluvium._transaction_key("id", connector) }} as transaction_id,
    max(_cdc_position) as marker_position,
    max_by(
        map_from_entries(transform(
            filter(data_collections, counted -> array_contains({{ collections }}, counted.data_collection)),
            counted -> struct(counted.data_collection, counted.event_count)
        )),
        _cdc_position
    ) filter (where status = 'END') as expected
from {{ markers.relation }}
where
    _cdc_kind = 'change'
    {{- alluvium._is_of_batches(markers.batches, none) | indent(4) }}
group by {{ alluvium._transaction_key("id", connector) }}
{%- endmacro %}


{% macro _events_of_transactions(log, connector, open_from) -%}
select
    {{ alluvium._transaction_key("_cdc_transaction_id", connector) }} as transaction_id,
    {{ alluvium._string_literal(log.feed.data_collection) }} as data_collection,
    _cdc_transaction_order,
    _cdc_position
from {{ log.relation }}
where
    _cdc_transaction_order is not null
    and _cdc_position is not null
    -- It has come, and no state will show it before it is mended.
    and _cdc_kind <> 'rejected'
    {{- alluvium._is_of_batches(log.batches, open_from) | indent(4) }}
{%- endmacro %}


{# The condition on rows of a log that are new, or from a position on. #}
{% macro _is_of_batches(batches, from_position) -%}
    {%- if batches %}
and _cdc_batch <= {{ batches.until }}
        {%- if batches.after %}
and (_cdc_batch > {{ batches.after }}
    {{- " or _cdc_position >= " ~ alluvium._string_literal(from_position) if from_position }})
        {%- endif %}
    {%- endif %}
{%- endmacro %}
