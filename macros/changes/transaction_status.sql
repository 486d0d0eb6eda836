{#
    Which transactions of the source have arrived whole in some change logs: one row per transaction that Debezium counted
    (`provide.transaction.metadata`), complete once every log has as many of its events as its END marker says. A transaction that has no END, as
    the statements have that MariaDB commits by itself (ALTER, TRUNCATE), is over when another has begun. Once complete a transaction stays so: it may be
    delivered again. What the logs show of complete ones alone is in complete_transactions.
    The whole body of a model of its own:
    {{ transaction_status(ref('stg_shop__transaction'), [ref('stg_shop__orders'), ref('stg_shop__order_items')]) }}
#}
{% macro transaction_status(markers, change_logs) %}
    {%- if not execute -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set subject = "transaction_status: model " ~ model.name -%}
    {%- do alluvium.require_incremental("transaction_status", "merge") -%}
    {%- do alluvium.require_post_hook("transaction_status", "record_applied_batches") -%}
    {%- do alluvium.require_one_of(subject, "unique_key", config.get("unique_key"), ["transaction_id"]) -%}
    {%- do alluvium.require_marker_columns(subject, markers) -%}
    {%- set logs = [] -%}
    {%- for relation in change_logs -%}
        {%- do logs.append({"relation": relation, "feed": alluvium.feed_of_transactions(relation), "batches": alluvium.pending_batches(relation)}) -%}
    {%- endfor -%}
    {%- set connectors = logs | map(attribute="feed.connector") | unique | list -%}
    {%- if connectors | length != 1 -%}
        {% do alluvium.raise_invalid(subject, "connectors of the change logs", connectors, "one: transactions are those of one database") %}
    {%- endif -%}
    {%- set batches = alluvium.pending_batches(markers) -%}
    {%- set open_from = alluvium.oldest_incomplete_position(this) if is_incremental() and batches else none -%}
    {{ return(adapter.dispatch("transaction_status", "alluvium")({"relation": markers, "batches": batches}, logs, open_from)) }}
{% endmacro %}


{% macro require_marker_columns(subject, markers) %}
    {%- set names = alluvium.feed_of_relation("transaction_status", markers).columns | map(attribute="name") | list -%}
    {%- for name in ["id", "status", "data_collections"] -%}
        {%- do alluvium.require_one_of(subject ~ ": " ~ markers.identifier, "a column of the transaction topic", name, names) -%}
    {%- endfor -%}
{% endmacro %}


{# The feed of a change log whose events the markers count. #}
{% macro feed_of_transactions(change_log) %}
    {%- set feed = alluvium.feed_of_relation("transaction_status", change_log) -%}
    {%- set subject = "transaction_status: source " ~ feed.name -%}
    {%- if not feed.data_collection -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.data_collection", feed.data_collection, "the table's name in Debezium's END markers, such as public.orders") %}
    {%- elif alluvium.source_position_length(feed) == 0 -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.order_by", feed.order_by, "the connector's own position: another does not order the transactions of several tables") %}
    {%- endif -%}
    {{ return(feed) }}
{% endmacro %}


{# Position of the first event that has come of a transaction that is not whole; none where all are. #}
{% macro oldest_incomplete_position(status) %}
    {%- set rows = alluvium.query_rows("select min(first_position) as position from " ~ status ~ " where not is_complete") -%}
    {{ return(rows[0].position if rows else none) }}
{% endmacro %}


{% macro default__transaction_status(markers, logs, open_from) -%}
{%- set connector = logs[0].feed.connector -%}
with
-- What the markers say that the table has not applied.
marked as (
    {{ alluvium.marked_transactions(markers, logs, connector) | indent(4) }}
),

-- Events that the new batches bring, and all of the transactions that are still open.
events as (
    {%- for log in logs %}
    {{ alluvium.events_of_transactions(log, connector, open_from) | indent(4) }}
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
    {{ alluvium.known_transactions() | indent(4) }}
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

{{ alluvium.judged_transactions() }}
{%- endmacro %}


{#
    What is whole, and what misses. Without counts a transaction is whole when it is over; the newest marker says whether another
    has begun.
#}
{% macro judged_transactions() -%}
select
    transaction_id,
    (
        expected is not null
        or coalesce(marker_position < (select max(marker_position) from (select marker_position from marked union all select marker_position from known) as markers), false)
    )
    and size(missing_from) = 0 as is_complete,
    missing_from,
    expected,
    arrived,
    first_position,
    marker_position
from (
    select
        *,
        filter(
            map_keys(coalesce(expected, cast(map() as map<string, bigint>))),
            name -> coalesce(arrived[name], 0) < expected[name]
        ) as missing_from
    from transactions
) as counted
{%- endmacro %}


{# The transactions that the table has; nothing before it is built. #}
{% macro known_transactions() -%}
select transaction_id, is_complete, first_position, marker_position, expected, arrived
from {% if is_incremental() -%}
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
{% macro marked_transactions(markers, logs, connector) -%}
{%- set collections = alluvium.literal_array(logs | map(attribute="feed.data_collection")) -%}
select
    {{ alluvium.transaction_key("id", connector) }} as transaction_id,
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
    {{- alluvium.is_of_batches(markers.batches, none) | indent(4) }}
group by {{ alluvium.transaction_key("id", connector) }}
{%- endmacro %}


{% macro events_of_transactions(log, connector, open_from) -%}
select
    {{ alluvium.transaction_key("_cdc_transaction_id", connector) }} as transaction_id,
    {{ alluvium.string_literal(log.feed.data_collection) }} as data_collection,
    _cdc_transaction_order,
    _cdc_position
from {{ log.relation }}
where
    _cdc_transaction_order is not null
    and _cdc_position is not null
    {{- alluvium.is_of_batches(log.batches, open_from) | indent(4) }}
{%- endmacro %}


{# The condition on rows of a log that are new, or from a position on. #}
{% macro is_of_batches(batches, from_position) -%}
    {%- if batches %}
and _cdc_batch <= {{ batches.until }}
        {%- if batches.after %}
and (_cdc_batch > {{ batches.after }}{{ " or _cdc_position >= " ~ alluvium.string_literal(from_position) if from_position }})
        {%- endif %}
    {%- endif %}
{%- endmacro %}


{# PostgreSQL's `id` is the transaction's number and the event's own lsn, another for each event (Debezium 3.6.3). #}
{% macro transaction_key(column, connector) %}
    {{ return("split_part(" ~ column ~ ", ':', 1)" if connector == "postgresql" else column) }}
{% endmacro %}
