{#
    The state of a table without a key: one row for each row image that its change log ever named, with the number of
    rows that the table has of it. A create and a snapshot row bring one, a delete takes one, an update takes its image
    before and brings the one after. Only events above the newest reset count (_pending_resets in this folder), each
    once, however often it was delivered: a sum is the same in any order.

    Where all new events lie above all that the state has, none of them can be an event that was counted already, and
    their sum is added to what is there. Otherwise the log is counted as a whole.
#}
{% macro _keyless_rows(change_log, feed, delete_policy, batches, resets, snapshotted_with=[]) %}
    {%- do alluvium._require_one_of("counted_rows", "delete_policy", delete_policy, ["soft", "hard"]) -%}
    {%- do alluvium._require_countable(feed) -%}
    {%- if alluvium._has_nothing_to_apply(change_log, feed, batches, resets) -%}
        {{ return(alluvium._no_rows_sql()) }}
    {%- endif -%}
    {%- set adds_from = alluvium._adds_from(change_log, feed, batches, resets) if batches else none -%}
    {%- do alluvium._announce_full_count(feed, batches, adds_from) -%}
    {%- set resets = alluvium._standing_resets(change_log, feed, batches, snapshotted_with, "")
        if batches and is_incremental() and not adds_from else resets -%}
    {%- set rows = alluvium._keyless_rows_sql(change_log, feed, delete_policy, batches, resets, adds_from) -%}
    {{ return(alluvium._keyed_rows(rows, feed, ["_cdc_row_hash"])) }}
{% endmacro %}


{# On the terminal, and to the merge. #}
{% macro _announce_full_count(feed, batches, adds_from) %}
    {%- if adds_from -%}
        {%- do alluvium._remember("adds_from", this, adds_from) -%}
    {%- elif batches and is_incremental() -%}
        {%- do log(
                feed.name ~ ": an event came late, or again, or a reset came: the whole change log is counted",
                info=true
            ) -%}
    {%- endif -%}
{% endmacro %}


{#
    What the events do not say has to be declared. The rows of a partial snapshot cannot be told from rows that are
    there already, the image before of another replica identity than FULL from a whole one.
#}
{% macro _require_countable(feed) %}
    {%- set subject = "current_state: source " ~ feed.name -%}
    {%- if feed.key -%}
        {% do alluvium._raise_invalid(subject, "meta.cdc.key", feed.key, "[], as for a table without a key") %}
    {%- endif -%}
    {%- do alluvium._require_one_of(
        subject, "meta.cdc.connector of a table without a key", feed.connector, ["postgresql", "mysql", "mariadb"]
    ) -%}
    {%- if feed.snapshots != "complete" -%}
        {% do alluvium._raise_invalid(
                subject, "meta.cdc.snapshots", feed.snapshots, "complete, for a table without a key"
            ) %}
    {%- endif -%}
    {%- if feed.connector == "postgresql" and feed.replica_identity == "undeclared" -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.replica_identity of a table without a key", feed.replica_identity,
            ["full", "default", "index", "nothing"]
        ) %}
    {%- endif -%}
{% endmacro %}


{# The oldest of the new events where all of them are newer than the state, none where the log has to be counted. #}
{% macro _adds_from(change_log, feed, batches, resets) %}
    {%- set oldest = alluvium._remembered("oldest_change", this) -%}
    {%- if is_incremental() and oldest and not resets -%}
        {#-
            As before each of Hudi's tables is written (_refresh_hudi_tables), which is after the model has compiled.
        -#}
        {%- do run_query("refresh table " ~ this) if alluvium._is_hudi() -%}
        {%- set newest = alluvium._query_rows("select max(_cdc_position) as position from " ~ this)[0].position -%}
        {%- set length = alluvium._source_position_length(feed) -%}
        {%- if newest and oldest[:length] > newest[:length]
            and (
                feed.connector != "postgresql"
                or not alluvium._query_rows(alluvium._lsns_of_batches_sql(change_log, batches))[0].is_mixed
            ) -%}
            {{ return(oldest) }}
        {%- endif -%}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    Whether an lsn of the new events is not above all of the others. Sent again, a PostgreSQL event may have any end of
    a transaction before, so that its position alone does not say that it was not counted.
#}
{% macro _lsns_of_batches_sql(change_log, batches) -%}
    select coalesce(
        min({{ alluvium._own_lsn("_cdc_position") }}) filter (where _cdc_batch > {{ batches.after }})
        <= max({{ alluvium._own_lsn("_cdc_position") }}) filter (where _cdc_batch <= {{ batches.after }}),
        false
    ) as is_mixed
    from {{ change_log }}
    where
        _cdc_kind = 'change'
        and _cdc_op <> 'r'
        and _cdc_batch <= {{ batches.until }}
{%- endmacro %}


{% macro _keyless_rows_sql(change_log, feed, delete_policy, batches, resets, adds_from) -%}
{%- set newest_reset = alluvium._latest_reset() -%}
{%- set starts_with_log = not newest_reset and not adds_from -%}
with
-- {{
    "The row changes that this state has not applied, all newer than it." if adds_from
    else "Every row change of the log."
}}
changes as (
    {{ alluvium._changes_of_batches(
            change_log, feed, batches if adds_from or not batches else {"after": 0, "until": batches.until}
        )
        | indent(4) }}
),

-- The rows that an event takes (-1) and brings (1).
row_changes as (
    {{ alluvium._row_changes("changes", feed) | indent(4) }}
),

-- Each event once, however often it was delivered.
events as (
    {{ alluvium._events_once("row_changes", feed) | indent(4) }}
),

counts as (
    select
        _cdc_row_hash,
        {{ alluvium._sum_of_events("row_change * row_count", feed, newest_reset, starts_with_log) | indent(8) }}
        as _cdc_row_count,
        {{ alluvium._sum_of_events("ambiguous_count", feed, newest_reset, starts_with_log) | indent(8) }}
        as _cdc_ambiguous_events,
        max_by(newest, newest._cdc_position) as newest
    from events
    {%- if starts_with_log %}
    cross join (select {{ alluvium._start_of_log(feed) }} as start from changes) as log
    {%- endif %}
    group by _cdc_row_hash
)

{{ alluvium._keyless_columns("counts", feed, "soft" if adds_from else delete_policy, newest_reset, resets) }}
{%- endmacro %}


{% macro _row_changes(from, feed) -%}
{%- set image = "struct(" ~ alluvium._column_list(feed.columns | map(attribute="name")) | join(", ") ~ ")" -%}
select
    {{ alluvium._row_hash(feed, "taken.image") | indent(4) }} as _cdc_row_hash,
    taken.row_change,
    taken.image,
    {{ alluvium._event_position(feed) }} as source_position,
    {{ alluvium._record_identity(feed) | indent(4) }} as record,
    _cdc_transaction_order,
    concat(_cdc_file_path, ' ', _cdc_file_length) as file,
    {{ alluvium._state_lineage_columns() | join(",\n    ") }}
from {{ from }}
    lateral view inline(
        case
            when _cdc_op = 'd' then array(struct(-1, {{ image }}))
            {%- if alluvium._keeps_before_images(feed) %}
            when _cdc_op = 'u'
                then array(
                    struct(-1, {{ alluvium._known_before_image(feed) | indent(20) }}), struct(1, {{ image }})
                )
            {%- endif %}
            else array(struct(1, {{ image }}))
        end
    ) taken as row_change, image
{%- endmacro %}


{# A log from before there was a state of such tables has updates without one. #}
{% macro _known_before_image(feed) -%}
if(
    _cdc_has_image_before,
    struct(
        {%- for column in feed.columns %}
        {{ alluvium._before_column(column.name) }} as {{ alluvium._quoted_identifier(column.name) }}
        {{- "," if not loop.last }}
        {%- endfor %}
    ),
    raise_error('an update in the change log has no image before: build the log anew with a full refresh')
)
{%- endmacro %}


{#
    Of the row as text that is the same whatever the session's time zone and the order of the declared columns. NULLs
    are left out, so that a column that is added changes no hash of a row that has none in it.
#}
{% macro _row_hash(feed, image) -%}
{%- set columns = feed.columns | map(attribute="name") | sort(case_sensitive=true) -%}
sha2(to_json(
    struct({{ alluvium._column_list(columns, image ~ ".") | join(", ") }}),
    map(
        'timeZone', 'UTC',
        'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
        'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
    )
), 256)
{%- endmacro %}


{#
    What tells two records of one position from one record that lies in two files: the connector's clock in nanoseconds
    (of 10,760 recorded events of Debezium 3.5 and 3.6 no two of a table share one), else the offset, else the file's
    first offset and the line.
#}
{% macro _record_identity(feed) -%}
coalesce(
    {%- if alluvium._keeps_before_images(feed) %}
    concat('ts_ns ', _cdc_connector_ts_ns),
    {%- endif %}
    concat('offset ', _cdc_kafka_partition, ' ', _cdc_kafka_offset),
    concat('line ', _cdc_kafka_partition, ' ', _cdc_file_offset, ' ', _cdc_line),
    concat('file ', _cdc_file_path, ' ', _cdc_file_length, ' ', _cdc_line)
)
{%- endmacro %}


{#
    The rows of a snapshot share their position; when it was taken tells one that was broken off from the next at the
    same position, which an idle database gives.
#}
{% macro _events_once(from, feed) -%}
select
    _cdc_row_hash,
    row_change,
    source_position,
    _cdc_op,
    {{ alluvium._rows_of_event(feed) | indent(4) }} as row_count,
    {{ alluvium._ambiguous_events(feed) | indent(4) }} as ambiguous_count,
    newest
from (
    select
        _cdc_row_hash,
        row_change,
        source_position,
        _cdc_op,
        count(distinct record) as record_count,
        min(record) as record,
        min(file) <> max(file) as is_in_files,
        {%- if feed.connector == "postgresql" %}
        count(_cdc_transaction_order) = count(*) as has_places,
        collect_set(if(_cdc_op = 'c', struct(record, file, _cdc_transaction_order as place), null)) as creates,
        {%- endif %}
        max_by(struct(image, {{ alluvium._state_lineage_columns() | join(", ") }}), _cdc_position) as newest
    from {{ from }}
    group by _cdc_row_hash, row_change, source_position, _cdc_op, if(_cdc_op = 'r', _cdc_source_ts, null)
) as delivered
{%- endmacro %}


{#
    How many equal rows of one position there are. In the binlog each row has a position of its own; in PostgreSQL the
    rows of a COPY may share one, and so do two deliveries of one row. Their places in the transaction tell; without
    them the rows are as many as in the file that has the most.
#}
{% macro _rows_of_event(feed) -%}
case _cdc_op
    when 'r' then record_count
    {%- if feed.connector == "postgresql" %}
    when 'c' then if(
        has_places,
        size(array_distinct(transform(creates, one -> one.place))),
        array_max(transform(creates, one -> size(filter(creates, other -> other.file = one.file))))
    )
    {%- endif %}
    else 1
end
{%- endmacro %}


{# Those that _rows_of_event() may have taken for another row, or not: nothing in the events decides it. #}
{% macro _ambiguous_events(feed) -%}
case
    {%- if feed.connector == "postgresql" %}
    when _cdc_op = 'c' and not has_places then record_count - 1
    {%- endif %}
    when _cdc_op = 'r' and record like 'file %' and is_in_files then record_count - 1
    else 0
end
{%- endmacro %}


{#
    Over the events that count: those above the newest reset, of snapshots the rows of the complete one that it is, or
    of the one that the log starts with. A snapshot that has not come to its end says nothing that the stream has not
    said.
#}
{% macro _sum_of_events(value, feed, newest_reset, starts_with_log) -%}
{%- set snapshot = "log.start" if starts_with_log else alluvium._string_literal(newest_reset) -%}
coalesce(
        sum({{ value }}) filter (
            where _cdc_op <> 'r' and newest._cdc_position > {{ alluvium._string_literal(newest_reset) }}
        ),
        0
    )
    + coalesce(max({{ value }}) filter (where _cdc_op = 'r' and source_position = {{ snapshot }}), 0)
{%- endmacro %}


{#
    Where a snapshot has to start for its rows to count before its end is known. In a flattened feed the changes of a
    transaction that was open while the first snapshot was taken may lie below it, so it is the first snapshot that
    counts.
#}
{% macro _start_of_log(feed) %}
    {{ return(
        "min(" ~ (
            "if(_cdc_op = 'r', " ~ alluvium._snapshot_start(feed) ~ ", null)" if feed.shape == "flattened"
            else alluvium._snapshot_start(feed)
        ) ~ ")"
    ) }}
{% endmacro %}


{# Whether a row is gone, a sum that is added does not say: the merge empties it. #}
{% macro _keyless_columns(from, feed, delete_policy, newest_reset, resets) -%}
{%- set image = {"soft": "newest.image.{}", "hard": "if(_cdc_row_count <= 0, null, newest.image.{})"}[delete_policy] -%}
select
    {%- for column in feed.columns %}
    {%- set name = alluvium._quoted_identifier(column.name) %}
    {{ alluvium._partitioned_value(column, image.format(name)) }} as {{ name }},
    {%- endfor %}
    _cdc_row_hash,
    _cdc_row_count,
    _cdc_ambiguous_events,
    _cdc_row_count <= 0 as _is_deleted,
    case
        when _cdc_row_count > 0 then null
        {%- if resets %}
        when newest._cdc_position < {{ alluvium._string_literal(newest_reset) }}
            then {{ alluvium._reset_away_at(resets, "newest.") | indent(12) }}
        {%- endif %}
        else newest._cdc_source_ts
    end as _deleted_at,
    {{ alluvium._column_list(alluvium._state_lineage_columns(), "newest.") | join(",\n    ") }}
from {{ from }}
{%- endmacro %}


{#
    What no event decides is said on the terminal as long as the state has it: a row of which more were deleted than
    came (its create is not in the log, was rejected, or had other values in a column that was dropped since), and
    events that may be one or two.
#}
{% macro _announce_undecided_counts() %}
    {%- if alluvium._is_state(model) and alluvium._remembered("oldest_change", this)
        and not alluvium._feed_of_node("announce_undecided_counts", model).key -%}
        {%- set counted = alluvium._query_rows(alluvium._undecided_counts_sql(this))[0] -%}
        {%- if counted.negative_count or counted.ambiguous_count -%}
            {%- do alluvium._warn(
                this.identifier ~ ": " ~ counted.negative_count ~ " row images were deleted more often than they came, "
                ~ counted.ambiguous_count
                ~ " have events that may be one row or two; `select * from " ~ this
                ~ " where _cdc_row_count < 0 or _cdc_ambiguous_events > 0` says which"
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{% macro _undecided_counts_sql(state) -%}
    select
        count_if(_cdc_row_count < 0) as negative_count,
        count_if(_cdc_ambiguous_events > 0) as ambiguous_count
    from {{ state }}
    where {{ alluvium._has_undecided_count() }}
{%- endmacro %}


{% macro _has_undecided_count() %}
    {{ return("(_cdc_row_count < 0 or _cdc_ambiguous_events > 0)") }}
{% endmacro %}
