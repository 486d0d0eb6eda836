{#
    Takes the rows of some keys out of everything that was made of a table (change logs with their quarantine, states,
    histories) and sets up a barrier that keeps them from coming back (_purge_filter). Shows first what it would do;
    `dry_run: false` does it. dbt run-operation purge_rows --args '{source: shop, entity: customers, keys: [{id: 1001}],
    dry_run: false}' The files of the source are never altered: those that hold the keys are shown. The keys themselves
    are in one query only, as texts; everything else works with their hashes, so that no commit of a table names them.
#}
{% macro purge_rows(
        source, entity, keys, dry_run=true, later_events="purge", requested_by=none, reason=none, vacuum_hours=none
    ) %}
    {%- if execute -%}
        {%- do alluvium._require_one_of("purge_rows", "dry_run", dry_run, [true, false]) -%}
        {%- do alluvium._require_one_of("purge_rows", "later_events", later_events, ["purge", "keep"]) -%}
        {%- if vacuum_hours is not none
            and (vacuum_hours is not integer or vacuum_hours is boolean or vacuum_hours < 0) -%}
            {% do
                alluvium._raise_invalid("purge_rows", "vacuum_hours", vacuum_hours, "a number of hours, such as 168") %}
        {%- endif -%}
        {%- set feed = alluvium._feed_to_purge(source, entity, later_events) -%}
        {%- do alluvium._require_keys_to_purge(feed, keys, vacuum_hours) -%}
        {{ return(alluvium._purge_keys(feed, keys, {
            "dry_run": dry_run, "later_events": later_events, "requested_by": requested_by, "reason": reason,
            "vacuum_hours": vacuum_hours
        })) }}
    {%- endif -%}
{% endmacro %}


{#
    The purge filter first: from then on no build reads a line of these keys, wherever this is killed. Rows of a state
    go before their events, since the events tell which rows of other keys they were in, too. Run again, every step does
    what is left of it.
#}
{% macro _purge_keys(feed, keys, request) %}
    {%- set tables = alluvium._tables_of_feed(feed) -%}
    {%- for table in tables.states + tables.histories if table.file_format == "hudi" -%}
        {%- do alluvium._require_session_of_hudi("purge_rows: " ~ table.relation) -%}
        {%- do alluvium._require_clock_of_hudi("purge_rows", table.relation) -%}
    {%- endfor -%}
    {%- set hashes = alluvium._hashes_of_keys(feed, keys) -%}
    {%- if hashes -%}
        {%- if load_relation(feed.relation) is none -%}
            {% do alluvium._raise_invalid(
                "purge_rows: source " ~ feed.name, "external table", none,
                "one, as `dbt run-operation stage_external_sources` makes it: the files are searched, too"
            ) %}
        {%- endif -%}
        {%- do alluvium._stage_feed(feed) -%}
        {%- set was_killed = alluvium._set_up_purge_filter(feed, tables, hashes, request) -%}
        {%- set lines = alluvium._collect_purged_lines(feed, tables) -%}
        {%- set found = alluvium._count_purged_rows(feed, tables, lines) -%}
        {%- do alluvium._show_purge(feed, tables, hashes, found, request) -%}
        {%- do alluvium._show_purged_files(lines) -%}
        {%- if not request.dry_run -%}
            {%- do alluvium._purge_tables(feed, tables, lines, found, was_killed) -%}
            {%- do run_query(alluvium._complete_purge_sql(feed)) -%}
        {%- endif -%}
        {%- do run_query("drop table " ~ lines) -%}
    {%- endif -%}
    {%- do alluvium._show_what_is_left(feed, tables, request) -%}
    {%- do alluvium._vacuum_tables_of_feed(tables, request.vacuum_hours)
        if request.vacuum_hours is not none and not request.dry_run -%}
{% endmacro %}


{# Of a source by its two names. #}
{% macro _feed_to_purge(source, entity, later_events) %}
    {%- set names = {} -%}
    {%- for node in graph.sources.values() if node.external and node.external.location -%}
        {%- do names.update({node.source_name ~ "." ~ node.name: node}) -%}
    {%- endfor -%}
    {%- do alluvium._require_one_of("purge_rows", "source and entity", source ~ "." ~ entity, names.keys() | sort) -%}
    {%- set feed = alluvium._feed_of_source("purge_rows", names[source ~ "." ~ entity]) -%}
    {%- set subject = "purge_rows: source " ~ feed.name -%}
    {%- if not feed.key -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.key", feed.key,
            "at least one column: nothing else says which events are of one row. Take the lines out of the files and "
            "build the tables anew with `dbt build --full-refresh`"
        ) %}
    {%- endif -%}
    {%- for name in feed.key -%}
        {%- set type = alluvium._column_of(feed, name).data_type -%}
        {%- if alluvium._base_type(type) in ["array", "map", "struct"] -%}
            {% do
                alluvium._raise_invalid(subject, "data_type of key column " ~ name, type, "a type without elements") %}
        {%- endif -%}
    {%- endfor -%}
    {%- if later_events == "keep" and alluvium._has_declared_order(feed) -%}
        {% do alluvium._raise_invalid(
            subject, "later_events", later_events,
            "purge, where meta.cdc declares the order: the newest position of the log says nothing of another key"
        ) %}
    {%- endif -%}
    {{ return(feed) }}
{% endmacro %}


{% macro _require_keys_to_purge(feed, keys, vacuum_hours) %}
    {%- set subject = "purge_rows: source " ~ feed.name -%}
    {%- if keys is string or keys is mapping or keys is not sequence or (not keys and vacuum_hours is none) -%}
        {% do alluvium._raise_invalid(
            subject, "keys", keys,
            "a list of keys, such as [{" ~ feed.key | join(": ..., ") ~ ": ...}]; an empty one with vacuum_hours alone"
        ) %}
    {%- endif -%}
    {%- for key in keys -%}
        {%- if key is not mapping or key.keys() | sort(case_sensitive=true) != feed.key | sort(case_sensitive=true) -%}
            {% do alluvium._raise_invalid(
                subject, "a key", key.keys() | list if key is mapping else key,
                "all columns of the key and no other: " ~ feed.key | join(", ")
            ) %}
        {%- endif -%}
        {%- for name, value in key.items() -%}
            {%- do alluvium._require_value_of_key(subject, alluvium._column_of(feed, name), value) -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{#
    YAML makes other values of what is not in quotes: 0123 becomes 83, 1.10 becomes 1.1, a time loses its zone. So a
    text is wanted where that could have happened. Whether a text is a value of its column is asked in _hashes_of_keys.
#}
{% macro _require_value_of_key(subject, column, value) %}
    {%- set base = alluvium._base_type(column.data_type) -%}
    {%- set is_as_written = value is string
        or (value is none and column.cdc.nullable)
        or (value is boolean and base == "boolean")
        or (value is integer and value is not boolean and base in ["tinyint", "smallint", "int", "bigint", "decimal"])
        or (base == "date" and modules.re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}$", value | string)) -%}
    {%- if not is_as_written -%}
        {% do alluvium._raise_invalid(
            subject, "keys: " ~ column.name, value if value is none else value | string,
            "a text in quotes that is a value of " ~ column.data_type ~ (", or null" if column.cdc.nullable else "")
        ) %}
    {%- endif -%}
{% endmacro %}


{# The one query that names the keys. A text that is no value of its column is refused. #}
{% macro _hashes_of_keys(feed, keys) %}
    {%- set hashes = [] -%}
    {%- for row in (alluvium._query_rows(alluvium._hashes_of_keys_sql(feed, keys)) if keys else []) -%}
        {%- for name, text in fromjson(row.misfits).items() -%}
            {% do alluvium._raise_invalid(
                "purge_rows: source " ~ feed.name, "keys: " ~ name, text,
                "a value of " ~ alluvium._column_of(feed, name).data_type
                ~ ", times as 2024-05-01T12:00:00 (with Z or +02:00 for timestamp), bytes as hexadecimal digits"
            ) %}
        {%- endfor -%}
        {%- do hashes.append(row.key_hash) -%}
    {%- endfor -%}
    {{ return(hashes | unique | list) }}
{% endmacro %}


{# Exactly as reconcile reads the texts of a dump. #}
{% macro _hashes_of_keys_sql(feed, keys) -%}
{%- set key_feed = alluvium._feed_of_columns(feed, []) -%}
{%- set names = key_feed.columns | map(attribute="name") | list -%}
{%- set types = {} -%}
{%- for name in names -%}
    {%- do types.update({name: "string"}) -%}
{%- endfor -%}
{%- set given -%}
(
            values
            {%- for key in keys %}
            (
                {%- for name in names -%}
                {{ alluvium._literal_or_null(key[name] | string | lower if key[name] is boolean else key[name]) }}
                {{- ", " if not loop.last }}
                {%- endfor -%}
            ){{ "," if not loop.last }}
            {%- endfor %}
            as given ({{ alluvium._column_list(names) | join(", ") }})
        )
{%- endset -%}
select
    {{ alluvium._key_hash(feed) }} as key_hash,
    to_json(misfits) as misfits
from (
    {{ alluvium._dump_rows_sql(key_feed, given, types) | indent(4) }}
) as keys_as_declared
{%- endmacro %}


{#
    What is made of a feed, as far as it is there: `logs` (change logs, and those of complete transactions), `states`,
    `histories` as {relation, node, file_format}; and `others`, the nodes of all else that holds rows of its own.
#}
{% macro _tables_of_feed(feed) %}
    {%- set tables = {"logs": [], "states": [], "histories": [], "others": []} -%}
    {%- for node in alluvium._nodes_behind(feed) -%}
        {%- set relation = alluvium._relation_of_node(node) -%}
        {%- set table = alluvium._built_table(relation) -%}
        {%- set role = alluvium._role_of_node(feed, node) -%}
        {%- if role == "others" -%}
            {%- do tables.others.append(node) if node.config.materialized in ["incremental", "table", "snapshot"] -%}
        {%- elif role and table is not none -%}
            {%- do tables[role].append(dict(table, node=node)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}


{# All models and snapshots that read a source, whatever lies between. #}
{% macro _nodes_behind(feed) %}
    {%- set ids, nodes = [], [] -%}
    {%- for node in graph.sources.values() if node.source_name == feed.source_name and node.name == feed.entity -%}
        {%- do ids.append(node.unique_id) -%}
    {%- endfor -%}
    {%- set sizes = [] -%}
    {%- for step in graph.nodes if ids | length not in sizes -%}
        {%- do sizes.append(ids | length) -%}
        {%- for id, node in graph.nodes.items() if id not in ids and node.resource_type in ["model", "snapshot"] -%}
            {%- if node.depends_on.nodes | select("in", ids) | list -%}
                {%- do ids.append(id) -%}
                {%- do nodes.append(node) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(nodes) }}
{% endmacro %}


{#
    A state may read another table's log for its snapshots, and holds no row of that; the status of transactions holds
    none of any.
#}
{% macro _role_of_node(feed, node) %}
    {%- set kind = alluvium._kind_of_model(node) -%}
    {%- set role =
        "logs" if alluvium._is_log(node) else {"state": "states", "history": "histories"}.get(kind, "others") -%}
    {%- if role == "others" -%}
        {{ return(none if kind == "transaction_status" else role) }}
    {%- endif -%}
    {{ return(role if alluvium._feed_of_node("purge_rows", node).name == feed.name else none) }}
{% endmacro %}


{#
    The ledger's entries, and for this session a view of the keys. Whether a purge of them was killed. A dry run has the
    view alone, of what the entries would be.
#}
{% macro _set_up_purge_filter(feed, tables, hashes, request) %}
    {%- set until_position = alluvium._latest_event(feed, tables.logs) if request.later_events == "keep" else none -%}
    {%- set was_killed = [] -%}
    {%- if not request.dry_run -%}
        {%- set ledger = alluvium._purge_ledger() -%}
        {%- do run_query("create schema if not exists " ~ ledger.schema) -%}
        {%- do alluvium._create_ledger(ledger, alluvium._create_purge_ledger_sql(ledger)) -%}
        {%- do
            was_killed.append(alluvium._query_rows(alluvium._unfinished_purges_sql(feed, hashes))[0].key_count > 0) -%}
        {%- do run_query(alluvium._record_purge_sql(feed, hashes, until_position, request)) -%}
    {%- endif -%}
    {%- do run_query(alluvium._create_purged_keys_view_sql(feed, hashes, until_position, request.dry_run)) -%}
    {#- Whether any key has a bound is not asked: here it costs nothing. -#}
    {%- do feed.update({"purge_filter": {
        "keys": "select key_hash, until_position from alluvium_purged_keys", "is_bounded": true,
    }}) -%}
    {{ return(true in was_killed) }}
{% endmacro %}


{#
    What the source says of the newest event of the logs; none without one. In PostgreSQL with the highest lsn that any
    of them has of its own: sent again, an event may have another end of the transaction before (_is_up_to).
#}
{% macro _latest_event(feed, logs) %}
    {%- set positions = [] -%}
    {%- set position = "max(" ~ alluvium._snapshot_start(feed) ~ ")" -%}
    {%- if feed.connector == "postgresql" -%}
        {%- set position =
            "concat_ws('.', left(" ~ position ~ ", 20), max(" ~ alluvium._own_lsn("_cdc_position") ~ "))" -%}
    {%- endif -%}
    {%- for log in logs -%}
        {%- do positions.append(
            alluvium._query_rows("select nullif(" ~ position ~ ", '') as position from " ~ log.relation)[0].position
        ) -%}
    {%- endfor -%}
    {%- set positions = positions | reject("none") | list -%}
    {%- if not positions -%}
        {% do alluvium._raise_invalid(
            "purge_rows: source " ~ feed.name, "later_events", "keep",
            "purge, as long as no log has an event that others could be later than"
        ) %}
    {%- endif -%}
    {{ return(positions | max) }}
{% endmacro %}


{% macro _create_purged_keys_view_sql(feed, hashes, until_position, dry_run) -%}
    create or replace temporary view alluvium_purged_keys as
    {%- if dry_run %}
    select
        explode({{ alluvium._literal_array(hashes) }}) as key_hash,
        {{ alluvium._literal_or_null(until_position) }} as until_position
    {%- else %}
    select
        key_hash,
        until_position
    from {{ alluvium._purge_ledger() }}
    where
        {{ alluvium._is_purge_of(feed) }}
        and array_contains({{ alluvium._literal_array(hashes) }}, key_hash)
    {%- endif %}
{%- endmacro %}


{#
    The lines that name the keys, in a table of its own for as long as this runs: those that a log built anew would
    count as purged, and of files that are no longer there those that the logs have. It has no value of any row.
#}
{% macro _collect_purged_lines(feed, tables) %}
    {%- set lines = api.Relation.create(
            schema=alluvium._purge_ledger().schema, identifier=feed.relation.identifier ~ "__purged_lines"
        ) -%}
    {%- for relation in [alluvium._file_listing(feed), feed.relation] -%}
        {%- do run_query("refresh table " ~ relation) -%}
    {%- endfor -%}
    {%- do run_query("create schema if not exists " ~ lines.schema) -%}
    {%- do alluvium._create_empty(
        lines, ["file_path string", "file_length bigint", "line bigint", "is_listed boolean"]
    ) -%}
    {%- do run_query(
        "insert into " ~ lines ~ "\n"
        ~ alluvium._purged_lines_sql(feed, alluvium._bronze_records(feed), alluvium._line_number(feed), "true")
    ) -%}
    {%- for log in tables.logs -%}
        {%- do run_query("insert into " ~ lines ~ "\n" ~ alluvium._purged_changes_sql(feed, log.relation)) -%}
        {%- do run_query(
            "insert into " ~ lines ~ "\n"
            ~ alluvium._purged_lines_sql(feed, alluvium._rejected_records(log.relation), "record_order", "false")
        ) -%}
    {%- endfor -%}
    {{ return(lines) }}
{% endmacro %}


{% macro _purged_lines_sql(feed, records, line, is_listed) -%}
with
records as (
    {{ records | indent(4) }}
),

{{ alluvium._numbered_lines(feed, line, alluvium._keys_of_lines(feed)) }},

{{ alluvium._filtered_lines(feed) }}

select
    file_path,
    file_length,
    line,
    {{ is_listed }} as is_listed
from purge_checked
where is_purged
{%- endmacro %}


{# Row changes that a log has of the keys. #}
{% macro _purged_changes_sql(feed, log) -%}
select
    _cdc_file_path as file_path,
    _cdc_file_length as file_length,
    _cdc_line as line,
    false as is_listed
from {{ log }} as logged
inner join alluvium_purged_keys as purged
    on
        {{ alluvium._key_hash(feed, "logged.") }} = purged.key_hash
        and coalesce(
            {{ alluvium._is_up_to(
                feed, alluvium._snapshot_start(feed, "logged."), "logged._cdc_op", "purged.until_position"
            ) }},
            true
        )
where logged._cdc_kind = 'change'
{%- endmacro %}


{# Rejected lines of a log as _bronze_records gives lines; what a container said of the types of its fields is gone. #}
{% macro _rejected_records(log) -%}
select
    _cdc_raw as value,
    cast(null as map<string, string>) as semantic_types,
    cast(null as string) as read_error,
    _cdc_file_path as file_path,
    _cdc_file_length as file_length,
    _cdc_file_modified_at as file_modified_at,
    cast(0 as bigint) as file_block_start,
    _cdc_line as record_order
from {{ log }}
where
    _cdc_kind = 'rejected'
    and _cdc_raw is not null
{%- endmacro %}


{# By table: the rows that it has to lose, and of a log the files that they are from. #}
{% macro _count_purged_rows(feed, tables, lines) %}
    {%- set found = {} -%}
    {%- for log in tables.logs -%}
        {%- do found.update(
            {log.relation.render(): alluvium._query_rows(alluvium._count_purged_lines_sql(log.relation, lines))[0]}
        ) -%}
    {%- endfor -%}
    {%- for table in tables.states + tables.histories -%}
        {%- do found.update({table.relation.render(): alluvium._query_rows(
            "select count(*) as row_count from " ~ table.relation ~ " as held\nwhere "
            ~ alluvium._is_row_to_purge(feed, table, lines)
        )[0]}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{% macro _count_purged_lines_sql(log, lines) -%}
    select
        count(*) as row_count,
        count(distinct _cdc_file_path) as file_count
    from {{ log }} as logged
    left semi join {{ lines }} as purged on {{ alluvium._is_line("logged", "purged") }}
    where _cdc_kind <> 'purged'
{%- endmacro %}


{% macro _is_line(logged, line) %}
    {{ return(
        "{0}._cdc_file_path = {1}.file_path and {0}._cdc_file_length = {1}.file_length and {0}._cdc_line = {1}.line"
        .format(logged, line)
    ) }}
{% endmacro %}


{#
    Rows of the keys. With a bound those whose newest event lies above it stay in a state until the log is held against
    it again: so it loses them all, and gets back what the log has. So it loses the row of another key that one of the
    lines was applied to, an update that changed the key.
#}
{% macro _is_row_to_purge(feed, table, lines) -%}
{%- set hash = alluvium._key_hash(feed, "held.") -%}
{%- set log = alluvium._log_of_table(table.node) -%}
{{ hash }} in (select key_hash from alluvium_purged_keys)
    {%- if load_relation(log) is not none %}
    or {{ hash }} in (
        select {{ alluvium._key_hash(feed, "logged.") }}
        from {{ log }} as logged
        left semi join {{ lines }} as purged on {{ alluvium._is_line("logged", "purged") }}
        where logged._cdc_kind = 'change'
    )
    {%- endif %}
{%- endmacro %}


{# The log that a state or a history reads first. #}
{% macro _log_of_table(node) %}
    {%- set log = graph.nodes[node.depends_on.nodes | first] -%}
    {{ return(alluvium._relation_of_node(log)) }}
{% endmacro %}


{# By rebuilds that failed or were killed, also into another format. #}
{% macro _drop_what_is_left_beside(relation) %}
    {%- for name in ["rebuilt", "replaced"] -%}
        {%- do alluvium._drop_tables_beside(relation, name) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _purge_tables(feed, tables, lines, found, was_killed) %}
    {%- for table in tables.states + tables.histories -%}
        {%- for name in ["moves", "moved_values"] if table in tables.states -%}
            {%- do run_query("drop table if exists " ~ alluvium._beside_table(table.relation, name)) -%}
        {%- endfor -%}
        {%- do alluvium._drop_what_is_left_beside(table.relation) -%}
        {%- do alluvium._forget_moved_values(feed, table, tables.logs, lines) -%}
        {%- do run_query(alluvium._delete_purged_rows_sql(feed, table, lines))
            if found[table.relation.render()].row_count -%}
        {%- do alluvium._rewrite_marked_files(table) -%}
    {%- endfor -%}
    {%- for node in tables.others -%}
        {%- do alluvium._drop_what_is_left_beside(alluvium._relation_of_node(node)) -%}
    {%- endfor -%}
    {%- for log in tables.logs -%}
        {%- do run_query(alluvium._empty_purged_lines_sql(feed, log.relation, lines))
            if found[log.relation.render()].row_count -%}
        {%- do alluvium._rewrite_marked_files(log) -%}
        {%- do
            run_query(alluvium._recount_files_sql(feed, log.relation, lines)) if alluvium._is_change_log(log.node) -%}
    {%- endfor -%}
    {%- if was_killed or found.values() | sum(attribute="row_count") -%}
        {%- for table in tables.states + tables.histories -%}
            {%- do alluvium._set_properties(table.relation, alluvium._properties_after_purge(table.relation)) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    A row that a merge has only marked is still in its file: of Delta's in one with a deletion vector, of Hudi's Merge
    on Read in one that a log file comes after. Hudi compacts what was scheduled.
#}
{% macro _rewrite_marked_files(table) %}
    {%- if table.file_format != "hudi" -%}
        {%- do run_query("reorg table " ~ table.relation ~ " apply (purge)") -%}
    {%- elif alluvium._query_rows("show tblproperties " ~ table.relation ~ " ('type')")[0].value == "mor" -%}
        {%- do run_query(
            "call run_compaction(op => 'schedule', table => '" ~ table.relation
            ~ "', options => 'hoodie.compact.inline.max.delta.commits=1')"
        ) -%}
        {%- do alluvium._maintain(table, "call run_compaction(op => 'run', table => '" ~ table.relation ~ "')") -%}
    {%- endif -%}
{% endmacro %}


{# Deleted by the hash: Delta writes a condition with literals into the commit. #}
{% macro _delete_purged_rows_sql(feed, table, lines) -%}
{%- set purged -%}
(
        select distinct {{ alluvium._key_hash(feed, "held.") }} as key_hash
        from {{ table.relation }} as held
        where
            {{ alluvium._is_row_to_purge(feed, table, lines) | indent(12) }}
    )
{%- endset -%}
{{ alluvium._merge_sql(table.relation, purged, {
    "on": alluvium._key_hash(feed, "target.") ~ " = source.key_hash",
    "delete_when": "source.key_hash is not null",
    "set": {},
}, table.file_format) }}
{%- endmacro %}


{#
    A row that moved shows values of the row that it was under a purged key. Where there is such a row, all that have
    moved forget what they were
    given: the next build looks it up again, in what is left.
#}
{% macro _forget_moved_values(feed, state, logs, lines) %}
    {%- if alluvium._follows_moves(feed) -%}
        {%- for log in logs -%}
            {%- if alluvium._query_rows(
                alluvium._rows_moved_from_purged_sql(feed, state.relation, log.relation, lines)
            ) -%}
                {%- do run_query(alluvium._forget_moved_values_sql(feed, state)) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro _rows_moved_from_purged_sql(feed, state, log, lines) -%}
{%- set length = alluvium._source_position_length(feed) -%}
    select 1 as moved
    from {{ state }} as moved
    where
        moved._cdc_moved_columns is not null
        and left({{ alluvium._created_position() }}, {{ length }}) in (
            select left(logged._cdc_position, {{ length }})
            from {{ log }} as logged
            left semi join {{ lines }} as purged on {{ alluvium._is_line("logged", "purged") }}
            where logged._cdc_op = 'd'
        )
    limit 1
{%- endmacro %}


{% macro _forget_moved_values_sql(feed, state) -%}
{%- set held = alluvium._columns_of_unavailable_values(feed) -%}
{%- set values = {} -%}
{%- for name in held -%}
    {%- set column = "target." ~ alluvium._quoted_identifier(name) -%}
    {%- do values.update(
        {
            name: "if(array_contains(target._cdc_moved_columns, " ~ alluvium._string_literal(name) ~ "), null, "
            ~ column ~ ")"
        }
    ) -%}
{%- endfor -%}
{%- do values.update({"_cdc_unresolved_columns": "filter(" ~ alluvium._literal_array(held)
    ~ ", name -> array_contains(target._cdc_moved_columns, name) or "
    "coalesce(array_contains(target._cdc_unresolved_columns, name), false))"}) -%}
{%- if state.file_format == "hudi" -%}
    {%- set moved = "(select _cdc_record_key from " ~ state.relation ~ " where _cdc_moved_columns is not null)" -%}
    {{ return(alluvium._upsert_sql(state.relation, moved, {
        "on": "target._cdc_record_key = source._cdc_record_key",
        "set": values,
    })) }}
{%- endif %}
    update {{ state.relation }} as target
    set
        {{ alluvium._assignments(values) | indent(8) }}
    where target._cdc_moved_columns is not null
{%- endmacro %}


{# A line of a purged key as the decoder would write it now. #}
{% macro _empty_purged_lines_sql(feed, log, lines) -%}
{%- set values =
    alluvium._values_of_purged_line(feed, adapter.get_columns_in_relation(log) | map(attribute="name") | list) -%}
    merge into {{ log }} as logged
    using (
        select distinct
            file_path,
            file_length,
            line
        from {{ lines }}
    ) as purged
    on {{ alluvium._is_line("logged", "purged") }}
    when matched and logged._cdc_kind <> 'purged'
        then update set
            {%- for name, value in values.items() %}
            {{ alluvium._quoted_identifier(name) }} = {{ value }}{{ "," if not loop.last }}
            {%- endfor %}
{%- endmacro %}


{# By column of a log, also one that is declared no longer; what is not here stays. #}
{% macro _values_of_purged_line(feed, names) %}
    {%- set values = {"_cdc_kind": "'purged'"} -%}
    {%- set emptied =
        ["_cdc_unavailable_columns", "_cdc_unknown_columns", "_cdc_reject_reason", "_cdc_reject_detail", "_cdc_raw"] -%}
    {%- for name in names if name in emptied or not alluvium._is_own_column(name) -%}
        {%- do values.update({name: "null"}) -%}
    {%- endfor -%}
    {%- for name in ["_cdc_position", "_cdc_source_ts"] if feed.sequence_by -%}
        {%- do values.update(
            {
                name: "if(logged._cdc_snapshot is null or logged._cdc_position is null, null, logged." ~ name ~ ")"
                if feed.full_dumps else "null"
            }
        ) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{#
    The ledger's counts of the files that had such lines. What their rejected lines were declared as stays as it was: it
    says which files are to be read again.
#}
{% macro _recount_files_sql(feed, log, lines) -%}
{%- set counted = [
    "change_count", "rejected_count", "control_count", "first_offset", "last_offset", "unwritten_before",
    "unwritten_after", "missing_inside",
    "absent_columns", "last_position",
] -%}
    merge into {{ alluvium._file_ledger() }} as entry
    using (
        {{ alluvium._file_entries_sql(
                feed, log, "(_cdc_file_path, _cdc_file_length) in (select file_path, file_length from " ~ lines ~ ")"
            )
            | indent(4) }}
    ) as counted
    on
        entry.{{ alluvium._is_entry_of(log) }}
        and entry.file_path = counted.file_path
        and entry.file_length = counted.file_length
        and entry.batch = counted.batch
    when matched
        then update set
            {%- for name in counted %}
            {{ name }} = counted.{{ name }},
            {%- endfor %}
            {%- for name in ["unknown_columns", "misfit_columns"] %}
            {%- set kept =
                "map_filter(entry." ~ name ~ ", (name, declared_as) -> map_contains_key(counted." ~ name ~ ", name))" %}
            {{ name }} = {{ alluvium._map_or_null(kept) }}{{ "," if not loop.last }}
            {%- endfor %}
{%- endmacro %}


{#
    The next build holds the table against its whole log: a line that was rejected may have kept a snapshot from
    deleting rows, and rows of other keys are to be had from what is left. A mart that merges is refused until it is
    built anew (changed_keys).
#}
{% macro _properties_after_purge(table) %}
    {%- set properties = {"purged": alluvium._run_id()} -%}
    {%- do
        properties.update(alluvium._commit_properties_of_hudi(table)) if alluvium._format_of_table(table) == "hudi" -%}
    {%- for name in alluvium._table_properties(table) if name.startswith("applied_batch.") -%}
        {%- do properties.update({name: 0}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{# On the terminal, a line for each table. #}
{% macro _show_purge(feed, tables, hashes, found, request) %}
    {%- do log(
        "purge_rows: " ~ feed.name ~ ", keys: " ~ hashes | length
        ~ (" (dry run: nothing is changed)" if request.dry_run else ""),
        info=true
    ) -%}
    {%- for log_ in tables.logs -%}
        {%- set counts = found[log_.relation.render()] -%}
        {%- do log(
            "%-60s %10s lines in %s files" | format(log_.relation.render(), counts.row_count, counts.file_count),
            info=true
        ) -%}
    {%- endfor -%}
    {%- for table in tables.states -%}
        {%- do log(
                "%-60s %10s rows" | format(table.relation.render(), found[table.relation.render()].row_count), info=true
            ) -%}
    {%- endfor -%}
    {%- for table in tables.histories -%}
        {%- do log(
            "%-60s %10s versions" | format(table.relation.render(), found[table.relation.render()].row_count), info=true
        ) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _show_purged_files(lines) %}
    {%- set files = alluvium._query_rows(
        "select file_path, count(distinct line) as line_count from " ~ lines
        ~ " where is_listed group by file_path order by file_path"
    ) -%}
    {%- do log(
        "files of the source that hold these keys, to be deleted or rewritten by you: " ~ files | length, info=true
    ) -%}
    {%- for file in files -%}
        {%- do log("  " ~ file.file_path ~ " (" ~ file.line_count ~ " lines)", info=true) -%}
    {%- endfor -%}
{% endmacro %}


{# What purge_rows does not do: the tables behind, the old versions, the lines that nobody can read. #}
{% macro _show_what_is_left(feed, tables, request) %}
    {%- set logs = tables.logs | map(attribute="relation.identifier") | list -%}
    {%- do alluvium._announce_dry_run("purge_rows") if request.dry_run -%}
    {%- do log(
        ("after that" if request.dry_run else "next") ~ ": dbt build --select " ~ logs | join("+ ") ~ "+", info=true
    ) if logs -%}
    {%- set merged = tables.others | selectattr("config.materialized", "equalto", "incremental")
        | rejectattr("config.incremental_strategy", "equalto", "insert_overwrite") | list -%}
    {%- if merged -%}
        {%- do log(
            "then, since a merge keeps what it once had: dbt build --full-refresh --select "
            ~ merged | map(attribute="name") | join(" "),
            info=true
        ) -%}
    {%- endif -%}
    {%- for node in tables.others | selectattr("resource_type", "equalto", "snapshot") -%}
        {%- do log("not purged, since dbt alone writes it: snapshot " ~ node.name, info=true) -%}
    {%- endfor -%}
    {%- for log_ in tables.logs -%}
        {%- do log(
            "rejected lines that name no key, to be looked through by you: select _cdc_file_path, _cdc_line, _cdc_raw "
            "from "
            ~ log_.relation ~ " where _cdc_reject_reason is not null",
            info=true
        ) -%}
    {%- endfor -%}
    {%- do log("older versions of the tables hold the rows until they are vacuumed, a week later: dbt run-operation "
    "purge_rows --args "
        ~ "'{source: " ~ feed.source_name ~ ", entity: " ~ feed.entity
        ~ ", keys: [], dry_run: false, vacuum_hours: 168}'",
        info=true) -%}
{% endmacro %}


{# Delta refuses less than its week, within which a reader or a writer may still use an old version. #}
{% macro _vacuum_tables_of_feed(tables, hours) %}
    {%- set found = tables.logs + tables.states + tables.histories -%}
    {%- for node in tables.others -%}
        {%- do found.append(alluvium._built_table(alluvium._relation_of_node(node))) -%}
    {%- endfor -%}
    {%- do alluvium._vacuum(found | reject("none") | list, hours, hours < 168, false) -%}
{% endmacro %}
