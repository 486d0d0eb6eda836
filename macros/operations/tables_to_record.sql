{% macro _create_run_ledger_sql(ledger) -%}
{%- set columns -%}
run_id string comment 'invocation_id of dbt, without dashes',
recorded_at timestamp,
{{ alluvium._figures_of_run() }}
{%- endset -%}
{{ alluvium._create_ledger_sql(ledger, columns) }}
{%- endmacro %}


{% macro _figures_of_run() -%}
table_name string,
batch bigint comment 'newest batch of the change log that the table holds',
table_version bigint comment 'newest commit of a state',
files bigint comment 'files read into a change log',
lines bigint,
changes bigint,
rejected bigint,
control bigint comment 'tombstones, heartbeats, transaction markers, messages, blank lines and the like',
changes_by_op map<string, bigint>,
rejected_by_reason map<string, bigint>,
offsets array<struct<kafka_topic: string, kafka_partition: int, first_offset: bigint, last_offset: bigint>>,
inserted bigint comment 'rows of a state that were not there, tombstones too',
updated bigint comment 'rows of a state that were written anew, deletes too',
deleted bigint comment 'of the rows inserted and updated those that are tombstones now',
stale bigint comment 'rows that new events named, and that the state had as they are or newer',
unresolved bigint comment 'cells of the rows inserted and updated whose value is not known',
seconds double comment 'that dbt took for the model'
{%- endmacro %}


{# Behind a test that warns or fails, also where this run has brought nothing new. #}
{% macro _announce_rejected_logs(results) %}
    {%- for result in results
        if result.status in ["warn", "fail"]
        and (result.node.test_metadata or {}).name == "rejected_within_threshold" -%}
        {%- set node = graph.nodes[result.node.attached_node] -%}
        {%- set change_log = alluvium._relation_of_node(node) -%}
        {%- do log(
            change_log ~ ": rejected lines: " ~ result.failures ~ ". The first: "
            ~ alluvium._first_rejected_lines(change_log),
            info=true
        ) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _announce_warnings() %}
    {%- set count = alluvium._run_state().get("warnings", []) | length -%}
    {%- do log("Warnings of models and hooks above, not counted in WARN= below: " ~ count, info=true) if count -%}
{% endmacro %}


{# The change logs and states of a run that have moved since the ledger's newest row of them. #}
{% macro _tables_to_record(results) %}
    {%- set candidates = [] -%}
    {%- for result in results if result.node.unique_id in graph.nodes -%}
        {%- set node = graph.nodes[result.node.unique_id] -%}
        {%- set table = alluvium._table_of_run(node, result) if node.resource_type == "model" else none -%}
        {%- do candidates.append(table) if table -%}
    {%- endfor -%}
    {%- set recorded = alluvium._recorded_tables() if candidates else {} -%}
    {%- set moved = [] -%}
    {%- for table in candidates -%}
        {%- do table.update(recorded.get(table.relation.render(), {"after": 0, "after_version": -1})) -%}
        {%- do moved.append(table) if table.until > table.after or table.is_written -%}
    {%- endfor -%}
    {{ return(moved) }}
{% endmacro %}


{#
    What a model's statements have left of this run: a change log knows its newest batch, a state, once it has
    succeeded, the batch that it has applied. None for any other model and for one that was skipped.
#}
{% macro _table_of_run(node, result) %}
    {%- set relation = alluvium._relation_of_node(node) -%}
    {%- set table = {"relation": relation, "seconds": result.execution_time, "is_written": false} -%}
    {%- if alluvium._is_change_log(node) -%}
        {%- set until = alluvium._remembered("newest_batch", relation) -%}
        {%- do table.update({"role": "change_log"}) -%}
    {%- elif alluvium._is_state(node) and result.status == "success" -%}
        {%- set log = graph.nodes[node.depends_on.nodes | first] -%}
        {%- set until = alluvium._remembered("pending_batch." ~ log.alias, relation) -%}
        {%- do table.update({
            "role": "state",
            "file_format": node.config.file_format,
            "is_written": alluvium._remembered("is_written", relation) is not none,
            "has_key": alluvium._feed_of_node("record_run", node).key | length > 0,
        }) -%}
    {%- endif -%}
    {%- do table.update({"until": until}) if until is defined and until is not none -%}
    {{ return(table if "until" in table else none) }}
{% endmacro %}


{% macro _recorded_tables() %}
    {%- set recorded = {} -%}
    {%- for row in alluvium._query_rows(alluvium._recorded_tables_sql(alluvium._run_ledger())) -%}
        {%- do recorded.update({
            row.table_name: {"after": row.batch | int, "after_version": row.table_version | int}
        }) -%}
    {%- endfor -%}
    {{ return(recorded) }}
{% endmacro %}


{# A log that was made anew begins below; then the newest row counts, not the greatest number. #}
{% macro _recorded_tables_sql(ledger) -%}
    select
        table_name,
        max_by(batch, recorded_at) as batch,
        coalesce(max_by(table_version, recorded_at), -1) as table_version
    from {{ ledger }}
    group by table_name
{%- endmacro %}


{#
    What the run has done to each table, as an object of the ledger's columns. Each relation is read once for all
    tables: a query for each table and figure took ten times as long to plan.
#}
{% macro _records_of_run(tables) %}
    {%- set records = {} -%}
    {%- for table in tables -%}
        {%- set record = {
            "table_name": table.relation.render(), "batch": table.until | int, "seconds": table.seconds
        } -%}
        {%- do record.update(alluvium._commit_figures(table), deleted=0, unresolved=0) if table.role == "state" -%}
        {%- do table.update({"after": 0}) if record.pop("is_whole", false) -%}
        {%- do records.update({record.table_name: record}) -%}
    {%- endfor -%}
    {%- for row in alluvium._query_rows(alluvium._counts_of_run_sql(tables)) -%}
        {%- do alluvium._add_counts(records[row.table_name], fromjson(row.counts)) -%}
    {%- endfor -%}
    {%- for record in records.values() if record.offsets -%}
        {%- do record.update({"offsets": record.offsets | dictsort | map(attribute=1) | list}) -%}
    {%- endfor -%}
    {{ return(records | dictsort | map(attribute=1) | list) }}
{% endmacro %}


{# Of the files of one partition, of the events of one operation or reason, or of the rows of a state. #}
{% macro _add_counts(record, counts) %}
    {%- if "row_count" in counts -%}
        {%- for column, name in {"changes_by_op": counts.op, "rejected_by_reason": counts.reason}.items() -%}
            {%- do record.setdefault(column, {}).update({name: counts.row_count} if name else {}) -%}
        {%- endfor -%}
    {%- elif "files" in counts -%}
        {%- for column in ["files", "lines", "changes", "rejected", "control"] -%}
            {%- do record.update({column: record.get(column, 0) + counts[column]}) -%}
        {%- endfor -%}
        {%- set offsets = counts.offsets -%}
        {%- set place = "%s %10d" % (offsets.kafka_topic, offsets.kafka_partition or 0) -%}
        {%- do record.setdefault("offsets", {}).update({place: offsets} if "first_offset" in offsets else {}) -%}
    {%- else -%}
        {%- do record.update(counts) -%}
    {%- endif -%}
{% endmacro %}


{#
    Of figures that are known: inside of the insert their query took twice as long (Spark 3.5.7, Delta 3.3), and the run
    would have to read them again to show them.
#}
{% macro _record_tables_sql(records) -%}
    insert into {{ alluvium._run_ledger() }}
    select
        '{{ alluvium._run_id() }}' as run_id,
        current_timestamp() as recorded_at,
        figures.*
    from (
        select
            from_json(
                record,
                'struct<
                    {{ modules.re.sub(" comment '[^']*'", "", alluvium._figures_of_run()) | indent(20) }}
                >'
            ) as figures
        from values
            {%- for record in records %}
            ({{ alluvium._string_literal(tojson(record)) }}){{ "," if not loop.last }}
            {%- endfor %}
            as records (record)
    ) as recorded
{%- endmacro %}


{% macro _counts_of_run_sql(tables) -%}
    {%- set logs = tables | selectattr("role", "equalto", "change_log") | list -%}
    {%- set states = tables | selectattr("role", "equalto", "state") | list -%}
    {%- set queries = [] -%}
    {%- do queries.extend([alluvium._files_read_sql(logs), alluvium._events_read_sql(logs)]) if logs -%}
    {%- do queries.append(alluvium._rows_written_sql(states)) if states -%}
    {{ queries | join("\n    union all\n") }}
{%- endmacro %}


{# The entries of the ledger of files for the new batches of the logs. #}
{% macro _is_entry_of_new_batches(logs) -%}
    (
            {%- for table in logs %}
            {{ alluvium._is_entry_of(table.relation) }} and {{ alluvium._is_of_new_batch(table, "batch") }}
            {%- if not loop.last %} or{% endif %}
            {%- endfor %}
        )
{%- endmacro %}


{% macro _is_of_new_batch(table, column) %}
    {{ return(column ~ " > " ~ table.after ~ " and " ~ column ~ " <= " ~ table.until) }}
{% endmacro %}


{% macro _files_read_sql(logs) -%}
    select
        change_log as table_name,
        to_json(struct(
            count(file_path) as files,
            sum(line_count) as lines,
            sum(change_count) as changes,
            sum(rejected_count) as rejected,
            sum(control_count) as control,
            struct(
                kafka_topic,
                kafka_partition,
                min(first_offset) as first_offset,
                max(last_offset) as last_offset
            ) as offsets
        )) as counts
    from {{ alluvium._file_ledger() }}
    where
        {{ alluvium._is_entry_of_new_batches(logs) }}
    group by change_log, kafka_topic, kafka_partition
{%- endmacro %}


{# A row has an operation that counts, or a reason, or neither. #}
{% macro _events_read_sql(logs) -%}
    select
        table_name,
        to_json(struct(op, reason, count(*) as row_count)) as counts
    from (
        {{ alluvium._rows_of_new_batches(
                logs,
                ["if(_cdc_kind in ('change', 'truncate'), _cdc_op, null) as op", "_cdc_reject_reason as reason"]
            )
            | indent(8) }}
    ) as events
    group by table_name, op, reason
{%- endmacro %}


{# A state has its own columns, by whether it has a key. #}
{% macro _rows_of_new_batches(tables, columns=none) -%}
    {%- for table in tables -%}
    {{ "union all\n" if not loop.first -}}
select
    {{ alluvium._string_literal(table.relation.render()) }} as table_name,
    {{ (columns or ["_is_deleted", alluvium._unresolved_cells(table) ~ " as unresolved"]) | join(",\n    ") }}
from {{ table.relation }}
where {{ alluvium._is_of_new_batch(table, "_cdc_batch") }}
    {{- "\n" if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{# Of a row; of a row image without a key whether nothing says how many such rows there are. #}
{% macro _unresolved_cells(table) %}
    {{ return(
        "if(_is_deleted or _cdc_unresolved_columns is null, 0, size(_cdc_unresolved_columns))" if table.has_key
        else "if(" ~ alluvium._has_undecided_count() ~ ", 1, 0)"
    ) }}
{% endmacro %}


{% macro _rows_written_sql(states) -%}
    select
        table_name,
        to_json(struct(count_if(_is_deleted) as deleted, sum(unresolved) as unresolved)) as counts
    from (
        {{ alluvium._rows_of_new_batches(states) | indent(8) }}
    ) as rows_of_new_batches
    group by table_name
{%- endmacro %}


{#
    Rows written by the commits of a state that no row of the ledger counts yet, out of Delta's history. A row that a
    merge has read and not written is stale; those that a reset closes have no source row.
#}
{% macro _commit_figures(table) %}
    {%- if table.file_format == "hudi" -%}
        {{ return(alluvium._commit_figures_of_hudi(table)) }}
    {%- endif -%}
    {%- set figures = {"table_version": 0, "inserted": 0, "updated": 0, "stale": 0, "is_whole": false} -%}
    {%- for commit in alluvium._query_rows("describe history " ~ table.relation ~ " limit 100") -%}
        {%- set version = commit.version | int -%}
        {%- set before = [figures.table_version, version] | max -%}
        {%- do figures.update({"table_version": before}) -%}
        {%- set metrics = fromjson(commit.operationMetrics or "{}") -%}
        {%- if (version > table.after_version or before < table.after_version) and not figures.is_whole -%}
            {%- do figures.update(alluvium._added_figures(figures, commit.operation, metrics)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(figures) }}
{% endmacro %}


{#
    Hudi's commits do not say how many rows a statement has read, so that stale ones are not known. A row that moves to
    another partition is an insert there and a delete here; a state has no other deletes. Commits of a compaction
    (`commit` of a Merge on Read table) and of clustering (a `replacecommit`) write rows that are there. The table
    begins with its first commit, or with the `replacecommit` of the full refresh that has overwritten it.
#}
{% macro _commit_figures_of_hudi(table) %}
    {%- set writes =
        alluvium._query_rows("call show_commits_metadata(table => '" ~ table.relation ~ "', limit => 100000)") -%}
    {#- By default later than any. -#}
    {%- set rebuilt_after = alluvium._table_properties(table.relation).rebuilt_after | default("9") -%}
    {%- set rebuilds = writes | selectattr("action", "equalto", "replacecommit") | map(attribute="commit_time")
        | select("gt", rebuilt_after) | list -%}
    {%- set oldest = (rebuilds or writes | map(attribute="commit_time")) | min -%}
    {%- set own = ["commit"] if "deltacommit" not in writes | map(attribute="action") else ["deltacommit"] -%}
    {%- set figures = {
        "table_version": oldest | int, "inserted": 0, "updated": 0, "stale": none,
        "is_whole": oldest | int > table.after_version
    } -%}
    {%- for write in writes if write.action in own and write.commit_time > oldest or write.commit_time == oldest -%}
        {%- do figures.update({"table_version": [figures.table_version, write.commit_time | int] | max}) -%}
        {%- if write.commit_time | int > table.after_version -%}
            {%- do figures.update({
                "inserted": figures.inserted + (write.num_inserts | int) - (write.num_deletes | int),
                "updated": figures.updated + (write.num_update_writes | int) + (write.num_deletes | int),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(figures) }}
{% endmacro %}


{% macro _added_figures(figures, operation, metrics) %}
    {#- Only a purge deletes rows of a state. -#}
    {%- if operation == "MERGE" and not (metrics.numTargetRowsDeleted or 0) | int -%}
        {%- set inserted = metrics.numTargetRowsInserted | int -%}
        {%- set matched = metrics.numTargetRowsMatchedUpdated | int -%}
        {{ return({
            "inserted": figures.inserted + inserted,
            "updated": figures.updated + (metrics.numTargetRowsUpdated | int),
            "stale": figures.stale + [(metrics.numSourceRows | int) - inserted - matched, 0] | max,
        }) }}
    {%- elif "AS SELECT" in operation -%}
        {{ return({"inserted": figures.inserted + (metrics.numOutputRows | int), "is_whole": true}) }}
    {%- endif -%}
    {{ return({}) }}
{% endmacro %}


{# On the terminal, a line for each table. #}
{% macro _show_run(records) %}
    {%- set headings =
        ["lines", "changes", "rejected", "inserted", "updated", "deleted", "stale", "unresolved", "seconds"] -%}
    {%- do log(alluvium._run_line(["table"] + headings), info=true) -%}
    {%- for record in records -%}
        {%- set figures = [record.table_name] -%}
        {%- for heading in headings -%}
            {%- do figures.append(
                "" if record.get(heading) is none
                else "%.1f" % record[heading] if heading == "seconds" else record[heading]
            ) -%}
        {%- endfor -%}
        {%- do log(alluvium._run_line(figures), info=true) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _run_line(cells) %}
    {%- set padded = ["%-44s" % cells[0]] -%}
    {%- for cell in cells[1:] -%}
        {%- do padded.append("%10s" % cell) -%}
    {%- endfor -%}
    {{ return(padded | join(" ")) }}
{% endmacro %}
