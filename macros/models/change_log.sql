{#
    The change log of one feed, whatever the shape of its records: one row per line or record of its files. Typed
    columns of the row image first, then `_cdc_*`: operation, kind, position, lineage. What cannot be decoded stays as a
    row of kind `rejected` with a reason code, its text and its lineage; nothing is dropped.
    The whole body of a stg_ model: {{ change_log(source('shop', 'orders')) }}
#}
{% macro change_log(source_relation) %}
    {#- Sources and their YAML are known only at execution; parsing needs the reference alone. -#}
    {%- if not execute -%}
        {%- do alluvium._set_model("change_log") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- do alluvium._require_kind_of_input("change_log", "source_relation", source_relation, ["source"]) -%}
    {%- set feed = alluvium._feed_to_decode(source_relation) -%}
    {{ return(alluvium._whole_body(alluvium._change_log_sql(feed, alluvium._next_batch(feed)))) }}
{% endmacro %}


{# Delta (3.3) refuses them at the end of the first write, unless it maps the columns' names. #}
{% macro _require_names_of_delta(subject, feed) %}
    {%- if (alluvium._own_config().get("tblproperties") or {}).get("delta.columnMapping.mode") != "name" -%}
        {%- for column in feed.columns if modules.re.search("[ ,;{}()\n\t=]", column.name) -%}
            {% do alluvium._raise_invalid(
                subject, "name of a column", column.name,
                "a name without blanks and without any of `,;{}()=`, or `delta.columnMapping.mode: name` among the "
                "`+tblproperties` of the silver models in dbt_project.yml",
            ) %}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# What a model that decodes needs, whatever the shape of its records. #}
{% macro _feed_to_decode(source_relation) %}
    {%- set feed = alluvium._feed_of_relation("change_log", source_relation) -%}
    {%- do alluvium._require_incremental("change_log", "append") -%}
    {%- do alluvium._require_names_of_delta("change_log: source " ~ feed.name, feed) -%}
    {%- do feed.update({"purge_filter": alluvium._purge_filter("change_log", feed)}) -%}
    {%- do feed.update({"relation": source_relation, "format": "json"}) if alluvium._is_unit_test() -%}
    {{ return(feed) }}
{% endmacro %}


{% macro _change_log_sql(feed, batch) -%}
{%- do alluvium._note_columns(feed) if batch.after is none -%}
{%- if batch.after is not none and alluvium._apply_schema_change(feed) and not batch.runs -%}
-- Every listed file is in the log.
select *
from {{ this }}
where false
{%- else -%}
{{ alluvium._decode_records_sql(feed, batch) }}
{%- endif -%}
{%- endmacro %}


{% macro _decode_records_sql(feed, batch) -%}
{%- set decoded =
    "joined" if alluvium._keeps_before_images(feed) else "purge_checked" if feed.purge_filter else "numbered" -%}
with
-- One row per line or record of the files to read.
records as (
    {{ alluvium._bronze_records(feed, batch.runs) | indent(4) }}
),

{{ alluvium._numbered_lines(
    feed, alluvium._line_number(feed), alluvium._keys_of_lines(feed) if feed.purge_filter else none
) }}
{%- if alluvium._keeps_before_images(feed) %},

{{ alluvium._before_image(feed) }}
{%- endif %}
{%- if feed.purge_filter %},

{{ alluvium._filtered_lines(feed) }}
{%- endif %}

select
    {{ alluvium._change_log_columns(feed, batch) | indent(4) }}
from {{ decoded }}
{%- if batch.after is not none %}
-- Read with the log that it is appended to: nothing is appended beside a batch that another run has appended since,
-- and Delta stops the later of two runs that append at once. What is left out is new to the next run.
where {{ alluvium._not_logged_since(batch) }}
{%- endif %}
{%- endmacro %}


{# The feed's columns, then `_cdc_*`: what the event says of itself, why it is rejected, where it was delivered. #}
{% macro _change_log_columns(feed, batch) -%}
{% for column in feed.columns -%}
{{ alluvium._unless_purged(feed, alluvium._logged_value(column, feed)) }} as {{
    alluvium._quoted_identifier(column.name)
}},
{% endfor -%}
if(kind in ('change', 'truncate', 'message'), op, null) as _cdc_op,
{{ alluvium._kind_of_line(feed) }} as _cdc_kind,
{{ alluvium._unless_values_order(feed, alluvium._cdc_position(feed)) }} as _cdc_position,
{{ alluvium._unless_values_order(feed, "source_ts") }} as _cdc_source_ts,
snapshot as _cdc_snapshot,
transaction_id as _cdc_transaction_id,
transaction_order as _cdc_transaction_order,
{{ alluvium._unless_purged(feed, "unavailable_columns") }} as _cdc_unavailable_columns,
{{ alluvium._unless_purged(feed, "unknown_columns") }} as _cdc_unknown_columns,
absent_columns as _cdc_absent_columns,
{%- if alluvium._keeps_before_images(feed) %}
{{ alluvium._before_columns(feed) }},
values_before is not null as _cdc_has_image_before,
connector_ts_ns as _cdc_connector_ts_ns,
{%- endif %}
{{ alluvium._unless_purged(feed, "split_part(reject_reason, ': ', 1)") }} as _cdc_reject_reason,
{{ alluvium._unless_purged(
    feed, "nullif(substring(reject_reason, length(split_part(reject_reason, ': ', 1)) + 3), '')"
) }} as _cdc_reject_detail,
{{ alluvium._unless_purged(feed, "if(reject_reason is not null, value, null)") }} as _cdc_raw,
kafka_partition as _cdc_kafka_partition,
kafka_offset as _cdc_kafka_offset,
file_offset as _cdc_file_offset,
file_path as _cdc_file_path,
file_length as _cdc_file_length,
file_modified_at as _cdc_file_modified_at,
line as _cdc_line,
cast({{ batch.number }} as bigint) as _cdc_batch
{%- endmacro %}


{% macro _not_logged_since(batch) -%}
not exists (
    select 1
    from {{ this }} as logged
    where logged._cdc_batch > {{ batch.after }}
)
{%- endmacro %}


{#
    The number of the batch that this run appends and the runs of files that it reads (none: every file).
    The ledger is brought level first; only a run does that, a mere `dbt compile` reads and changes nothing.
#}
{% macro _next_batch(feed) %}
    {%- if not alluvium._is_run() -%}
        {{ return({"number": 1, "after": none, "runs": none}) }}
    {%- endif -%}
    {%- if flags.EMPTY -%}
        {#- The next build would read the files that are there, and no others. -#}
        {%- do alluvium._require_no_missing_files(feed, this)
            if not is_incremental() and alluvium._latest_ledger_batch(this) -%}
        {{ return({"number": 0, "after": none, "runs": []}) }}
    {%- endif -%}
    {%- if not is_incremental() -%}
        {%- set newest = [alluvium._forget_files(feed, this), alluvium._latest_batch_of_readers(model)] | max -%}
        {%- do alluvium._remember("is_built_anew", this, true) if newest -%}
        {%- set runs = alluvium._new_files(feed, none, alluvium._listed_files(feed, none)) -%}
        {%- do alluvium._announce_new_files(feed, runs, newest + 1) -%}
        {{ return({"number": newest + 1, "after": none, "runs": none if runs else runs}) }}
    {%- endif -%}
    {%- set listed = alluvium._listed_files(feed, this) -%}
    {%- set newest = alluvium._sync_file_ledger(this, listed | first if listed else none) -%}
    {%- if listed and listed[0].log_batch != listed[0].held_batch -%}
        {%- set listed = alluvium._listed_files(feed, this) -%}
    {%- endif -%}
    {%- set runs = alluvium._new_files(feed, this, listed) -%}
    {%- set read = alluvium._latest_batch_of_readers(model) if runs else 0 -%}
    {#- The ledger was taken back with the log: what is behind them has applied batches that nobody has any more. -#}
    {%- do alluvium._set_generation(this) if read > newest -%}
    {%- set number = [newest, read] | max + 1 -%}
    {%- do alluvium._announce_new_files(feed, runs, number) -%}
    {{ return({"number": number, "after": newest, "runs": runs}) }}
{% endmacro %}


{#
    On the terminal, and to what runs later: statements of this model (get_insert_into_sql, record_applied_files), and
    its tests.
#}
{% macro _announce_new_files(feed, runs, batch) %}
    {%- set files = runs | sum(attribute="file_count") -%}
    {%- set again = runs | sum(attribute="outdated_count") -%}
    {%- set said =
        files ~ (" new file, " if files == 1 else " new files, ") ~ (runs | sum(attribute="bytes")) ~ " bytes" if files
        else "no new files" -%}
    {%- do log(
        feed.name ~ ": " ~ said ~ (
            ", " ~ again ~ " of them read again: columns are declared otherwise since, or a replay was asked for"
            if again else ""
        ),
        info=true
    ) -%}
    {%- do alluvium._remember("new_files", this, files) -%}
    {%- do alluvium._remember("files_of_batch." ~ batch, this, runs) -%}
    {%- do alluvium._remember("files_read_again", this, again) -%}
{% endmacro %}
