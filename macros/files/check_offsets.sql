{#
    Offsets that no file of a topic's partition accounts for (a gap), and files that share offsets (an overlap), from
    the ledger. An object's name has one offset, its first or its last; the other end is known as far as lines tell:
    each line has an offset, and a tombstone, which a sink leaves out, has one without a line. So an overlap is certain,
    and a gap is what the tombstones behind a file's deletes cannot explain: lost files, or records that the sink
    filters, that the topic has compacted, that a transaction's markers took. `warn` speaks of what the new files bring;
    `fail` stops the run for any, until it is filled or no longer to fail for.
#}
{% macro _check_offsets(change_log, after_batch) %}
    {%- set feed = alluvium._feed_of_relation("check_offsets", change_log) -%}
    {%- set policies = {"gap": feed.on_gap, "overlap": feed.on_overlap, "rewritten": feed.on_overlap} -%}
    {%- set wanted = ["fail"] + (["warn"] if after_batch is not none else []) -%}
    {%- if feed.on_gap in wanted or feed.on_overlap in wanted -%}
        {%- set found =
            alluvium._query_rows(alluvium._offset_summary_sql(change_log, after_batch or 0)) | sort(attribute="finding")
        -%}
        {%- for row in found if policies[row.finding] == "fail" -%}
            {{ exceptions.raise_compiler_error(alluvium._offset_message(feed, change_log, row, row.finding_count)) }}
        {%- endfor -%}
        {%- for row in found if policies[row.finding] == "warn" and row.new_count -%}
            {%- do alluvium._warn(alluvium._offset_message(feed, change_log, row, row.new_count)) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro _offset_message(feed, change_log, row, count) %}
    {%- set option = "on_gap" if row.finding == "gap" else "on_overlap" -%}
    {%- set said = {
        "gap": "offsets missing before a file, or in it",
        "overlap": "files share offsets with one before",
        "rewritten": "files landed anew with another length",
    } -%}
    {{ return(
        feed.name ~ ": " ~ said[row.finding] ~ ", " ~ count ~ " times (" ~ option ~ ": " ~ feed[option] ~ "), first "
        ~ row.kafka_topic ~ " partition " ~ row.kafka_partition ~ " offsets " ~ row.from_offset
        ~ " to " ~ row.until_offset ~ " at " ~ row.file_path
        ~ "; all with `dbt show --limit 100 --inline \"{{ alluvium.offset_findings(ref('"
        ~ change_log.identifier ~ "')) }}\"`"
    ) }}
{% endmacro %}


{#
    One row per kind of finding: how many there are, how many of them the batches above `after_batch` have part in, and
    one.
#}
{% macro _offset_summary_sql(change_log, after_batch) -%}
    select
        finding,
        count(*) as finding_count,
        count_if(newest_batch > {{ after_batch }}) as new_count,
        max_by(kafka_topic, newest_batch) as kafka_topic,
        max_by(kafka_partition, newest_batch) as kafka_partition,
        max_by(from_offset, newest_batch) as from_offset,
        max_by(until_offset, newest_batch) as until_offset,
        max_by(file_path, newest_batch) as file_path
    from (
        {{ alluvium.offset_findings(change_log) | indent(8) }}
    ) as findings
    group by finding
{%- endmacro %}


{#
    One row per gap, overlap and rewritten object of a change log's files, gaps inside of a file too where the store
    envelope has the offset of each record. The body of a model, or of `dbt show`.
#}
{% macro offset_findings(change_log) -%}
with files as (
    select
        *,
        max(struct(last_offset, unwritten_after, file_path, file_length, batch)) over (
            partition by kafka_topic, kafka_partition
            order by first_offset, last_offset, file_path, file_length
            rows between unbounded preceding and 1 preceding
        ) as before,
        max(batch) over (partition by file_path) as newest_batch_of_path
    from {{ alluvium._file_ledger() }}
    where
        {{ alluvium._is_entry_of(change_log) }}
        and file_path is not null
        and first_offset is not null
)

select inline(filter(array(
    if(first_offset - before.last_offset - 1 > unwritten_before + before.unwritten_after, struct(
        'gap' as finding,
        kafka_topic,
        kafka_partition,
        before.last_offset + 1 as from_offset,
        first_offset - 1 as until_offset,
        first_offset - before.last_offset - 1 - unwritten_before - before.unwritten_after as offset_count,
        file_path,
        before.file_path as other_file_path,
        greatest(batch, before.batch) as newest_batch
    ), null),
    if(missing_inside > 0 and batch = newest_batch_of_path, struct(
        'gap' as finding,
        kafka_topic,
        kafka_partition,
        first_offset as from_offset,
        last_offset as until_offset,
        missing_inside as offset_count,
        file_path,
        file_path as other_file_path,
        batch as newest_batch
    ), null),
    if(first_offset <= before.last_offset and first_offset <= last_offset, struct(
        if(file_path = before.file_path, 'rewritten', 'overlap') as finding,
        kafka_topic,
        kafka_partition,
        first_offset as from_offset,
        least(last_offset, before.last_offset) as until_offset,
        least(last_offset, before.last_offset) - first_offset + 1 as offset_count,
        file_path,
        before.file_path as other_file_path,
        greatest(batch, before.batch) as newest_batch
    ), null)
), finding -> finding is not null))
from files
{%- endmacro %}


{# What the ledger keeps of a file's offsets, behind its other columns. #}
{% macro _offset_columns() -%}
kafka_topic string,
kafka_partition int,
first_offset bigint comment 'lowest offset that the file has for certain',
last_offset bigint comment 'highest offset that the file has for certain',
unwritten_before bigint comment 'offsets before the first that tombstones without a line may have',
unwritten_after bigint comment 'offsets after the last that tombstones without a line may have',
missing_inside bigint comment 'offsets between the first and the last that nothing accounts for'
{%- endmacro %}


{#
    What is counted of the rows of a file, to tell its offsets from. A rejected line may have been anything: nobody
    vouches for its offset.
#}
{% macro _counted_offsets() -%}
    max(_cdc_kafka_partition) as kafka_partition,
    max(_cdc_file_offset) as file_offset,
    min(_cdc_kafka_offset) as lowest_offset,
    max(_cdc_kafka_offset) as highest_offset,
    count_if(_cdc_kind not in ('rejected', 'blank', 'empty_file')) as record_count,
    greatest(count_if(_cdc_kind in ('change', 'purged') and _cdc_op = 'd') - count_if(_cdc_kind = 'tombstone'), 0)
    + count_if(_cdc_kind = 'rejected') as unwritten_count,
    cast(
        coalesce(max_by(_cdc_kind in ('change', 'purged') and _cdc_op = 'd', _cdc_line), false) as bigint
    ) as last_unwritten_count
{%- endmacro %}


{#
    The offsets of a file: those of its records where they have them (store envelope), else from its name, which has the
    last one (Lenses) or the first. A delete's tombstone follows it; so it may lie behind the last record.
#}
{% macro _file_offsets(feed) -%}
    {%- set is_last = alluvium._has_last_offsets(feed) -%}
    {{ alluvium._part_of_name(feed.layout, "topic", "string") }} as kafka_topic,
    kafka_partition,
    coalesce(lowest_offset, file_offset{{ " - record_count + 1" if is_last }}) as first_offset,
    coalesce(highest_offset, file_offset{{ " + record_count - 1" if not is_last }}) as last_offset,
    {{
        "if(lowest_offset is null, unwritten_count - last_unwritten_count, 0)" if is_last else "0"
    }} as unwritten_before,
    {{
        "last_unwritten_count" if is_last
        else "if(lowest_offset is null, unwritten_count, last_unwritten_count)"
    }} as unwritten_after,
    coalesce(
        greatest(highest_offset - lowest_offset + 1 - record_count - unwritten_count + last_unwritten_count, 0), 0
    ) as missing_inside
{%- endmacro %}
