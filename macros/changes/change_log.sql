{#
    The change log of one feed, whatever the shape of its records: one row per line or record of its files. Typed columns of the row image first, then `_cdc_*`: operation,
    kind, position, lineage. What cannot be decoded stays as a row of kind `rejected` with a reason code, its text and its lineage; nothing is dropped.
    The whole body of a stg_ model: {{ change_log(source('shop', 'orders')) }}
#}
{% macro change_log(source_relation) %}
    {#- Sources and their YAML are known only at execution; parsing needs the reference alone. -#}
    {%- if not execute -%}
        {%- do alluvium.set_model("change_log") -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {%- set feed = alluvium.feed_to_decode(source_relation) -%}
    {{ return(alluvium.change_log_sql(feed, alluvium.next_batch(feed))) }}
{% endmacro %}


{# Delta (3.3) refuses them at the end of the first write, unless it maps the columns' names. #}
{% macro require_names_of_delta(subject, feed) %}
    {%- if (alluvium.own_config().get("tblproperties") or {}).get("delta.columnMapping.mode") != "name" -%}
        {%- for column in feed.columns if modules.re.search("[ ,;{}()\n\t=]", column.name) -%}
            {% do alluvium.raise_invalid(
                subject, "name of a column", column.name,
                "a name without blanks and without any of `,;{}()=`, or `delta.columnMapping.mode: name` among the `+tblproperties` of the silver models in dbt_project.yml",
            ) %}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# What a model that decodes needs, whatever the shape of its records. #}
{% macro feed_to_decode(source_relation) %}
    {%- set feed = alluvium.feed_of_relation("change_log", source_relation) -%}
    {%- do alluvium.require_incremental("change_log", "append") -%}
    {%- do alluvium.require_names_of_delta("change_log: source " ~ feed.name, feed) -%}
    {%- do feed.update({"barrier": alluvium.purge_barrier("change_log", feed)}) -%}
    {%- do feed.update({"relation": source_relation, "format": "json"}) if alluvium.is_unit_test() -%}
    {{ return(feed) }}
{% endmacro %}


{% macro change_log_sql(feed, batch) -%}
{%- if batch.after is not none and alluvium.apply_schema_change(feed) and not batch.runs -%}
-- Every listed file is in the log.
select *
from {{ this }}
where false
{%- else -%}
{{ alluvium.decode_records_sql(feed, batch) }}
{%- endif -%}
{%- endmacro %}


{% macro decode_records_sql(feed, batch) -%}
{%- set decoded = "joined" if alluvium.keeps_images_before(feed) else "barred" if feed.barrier else "numbered" -%}
with
-- One row per line or record of the files to read.
records as (
    {{ alluvium.bronze_records(feed, batch.runs) | indent(4) }}
),

{{ alluvium.numbered_lines(feed, alluvium.line_number(feed)) }}
{%- if alluvium.keeps_images_before(feed) %},

{{ alluvium.image_before(feed) }}
{%- endif %}
{%- if feed.barrier %},

{{ alluvium.lines_at_barrier(feed) }}
{%- endif %}

select
    {{ alluvium.change_log_columns(feed, batch) | indent(4) }}
from {{ decoded }}
{%- if batch.after is not none %}
-- Read with the log that it is appended to: nothing is appended beside a batch that another run has appended since,
-- and Delta stops the later of two runs that append at once. What is left out is new to the next run.
where {{ alluvium.not_logged_since(batch) }}
{%- endif %}
{%- endmacro %}


{# From `records` to `numbered`: what each line says, typed, judged and with its number; where keys were purged, with the keys that it names. #}
{% macro numbered_lines(feed, line) -%}
-- The line as JSON, before an object that says how long the line is: only where exactly one value is on the line, that object is the
-- second element. Spark reads an array up to its end and no further.
parsed as (
    select
        *,
        from_json(
            concat('[', {{ alluvium.with_quoted_constants("value") }}, ',{"line_length":', length(value), '}]'),
            'array<{{ alluvium.record_type(feed) }}>',
            {{ alluvium.json_options(["allowSingleQuotes", "allowNonNumericNumbers"]) }}
        ) as lines
        {%- if alluvium.reads_json_numbers(feed) %},
        -- Numbers as texts, digit by digit.
        from_json(
            concat('[', {{ alluvium.numbers_as_texts(alluvium.with_quoted_constants("value")) }}, ']'),
            'array<{{ alluvium.record_type(feed) }}>',
            {{ alluvium.json_options(["allowSingleQuotes", "allowNonNumericNumbers"]) }}
        ) as number_lines
        {%- endif %}
    from records
),

-- What the record says of itself, whatever its shape.
{{ alluvium.recognise(feed) }},

{{ alluvium.typed_values(feed) }},
{%- if feed.shape == "row" %}

{{ alluvium.operations_of_rows(feed) }},

-- Where the row says that its change lies in the order.
placed as (
    select
        *,
        {{ alluvium.source_position(feed) | indent(8) }} as source_position
    from operations
),
{%- endif %}

-- The verdict on each row.
verdicts as (
    select
        *,
        {{ alluvium.reject_reason(feed) | indent(8) }} as verdict
    from {{ "placed" if feed.shape == "row" else "typed" }}
),

-- Messages of another tool by their name.
judged as (
    select
        *,
        {{ alluvium.foreign_message(feed) | indent(8) }} as {{ "image_reject_reason" if alluvium.keeps_images_before(feed) else "reject_reason" }}
    from verdicts
),
{%- if feed.barrier %}

{{ alluvium.keys_of_lines(feed) }},
{%- endif %}

numbered as (
    select
        *,
        {{ line }} as line
    from {{ "keyed" if feed.barrier else "judged" }}
)
{%- endmacro %}


{% macro typed_values(feed) -%}
-- Whose values the source has not sent, and how the columns of the record differ from the declared ones.
sent as (
    select
        *,
        {{ alluvium.unavailable_columns(feed) | indent(8) }} as unavailable_columns,
        {{ alluvium.unknown_columns(feed) }} as unknown_columns,
        {{ alluvium.absent_columns(feed) }} as absent_columns
    from recognised
),

-- Each column's text in the row image.
texts as (
    select
        *,
        {%- for column in alluvium.declared_columns(feed) %}
        {{ alluvium.column_text(column, feed) }} as {{ alluvium.text_of(column.name) }}{{ "," if not loop.last }}
        {%- endfor %}
    from sent
),

-- Each column's value{{ "" if feed.shape == "row" else ", and where the record says that its change lies in the order" }}.
typed as (
    select
        *,
        {%- if feed.shape != "row" %}
        {#- Here, as Spark (3.5.7) takes seven passes more to resolve one more query on top of another. #}
        {{ alluvium.source_position(feed) | indent(8) }} as source_position,
        {%- endif %}
        {%- for column in alluvium.declared_columns(feed) %}
        {{ alluvium.decode_column(column, feed) }} as {{ alluvium.value_of(column.name) }}{{ "," if not loop.last }}
        {%- endfor %}
    from texts
)
{%- endmacro %}


{# The feed's columns, then `_cdc_*`: what the event says of itself, why it is rejected, where it was delivered. #}
{% macro change_log_columns(feed, batch) -%}
{% for column in feed.columns -%}
{{ alluvium.unless_purged(feed, alluvium.logged_value(column, feed)) }} as {{ alluvium.quoted_identifier(column.name) }},
{% endfor -%}
if(kind in ('change', 'truncate', 'message'), op, null) as _cdc_op,
{{ alluvium.kind_of_line(feed) }} as _cdc_kind,
{{ alluvium.unless_values_order(feed, alluvium.cdc_position(feed)) }} as _cdc_position,
{{ alluvium.unless_values_order(feed, "source_ts") }} as _cdc_source_ts,
snapshot as _cdc_snapshot,
transaction_id as _cdc_transaction_id,
transaction_order as _cdc_transaction_order,
{{ alluvium.unless_purged(feed, "unavailable_columns") }} as _cdc_unavailable_columns,
{{ alluvium.unless_purged(feed, "unknown_columns") }} as _cdc_unknown_columns,
absent_columns as _cdc_absent_columns,
{%- if alluvium.keeps_images_before(feed) %}
{{ alluvium.columns_before(feed) }},
values_before is not null as _cdc_has_image_before,
connector_ts_ns as _cdc_connector_ts_ns,
{%- endif %}
{{ alluvium.unless_purged(feed, "split_part(reject_reason, ': ', 1)") }} as _cdc_reject_reason,
{{ alluvium.unless_purged(feed, "nullif(substring(reject_reason, length(split_part(reject_reason, ': ', 1)) + 3), '')") }} as _cdc_reject_detail,
{{ alluvium.unless_purged(feed, "if(reject_reason is not null, value, null)") }} as _cdc_raw,
kafka_partition as _cdc_kafka_partition,
kafka_offset as _cdc_kafka_offset,
file_offset as _cdc_file_offset,
file_path as _cdc_file_path,
file_length as _cdc_file_length,
file_modified_at as _cdc_file_modified_at,
line as _cdc_line,
cast({{ batch.number }} as bigint) as _cdc_batch
{%- endmacro %}


{% macro not_logged_since(batch) -%}
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
{% macro next_batch(feed) %}
    {%- if not alluvium.is_run() -%}
        {{ return({"number": 1, "after": none, "runs": none}) }}
    {%- endif -%}
    {%- if flags.EMPTY -%}
        {#- The next build would read the files that are there, and no others. -#}
        {%- do alluvium.refuse_missing_files(feed, this) if not is_incremental() and alluvium.newest_ledger_batch(this) -%}
        {{ return({"number": 0, "after": none, "runs": []}) }}
    {%- endif -%}
    {%- set newest = alluvium.level_file_ledger(this) if is_incremental() else alluvium.forget_files(feed, this) -%}
    {%- do alluvium.remember("is_built_anew", this, true) if newest and not is_incremental() -%}
    {%- set runs = alluvium.new_files(feed, this if is_incremental() else none) -%}
    {%- do alluvium.announce_new_files(feed, runs) -%}
    {%- if is_incremental() -%}
        {{ return({"number": newest + 1, "after": newest, "runs": runs}) }}
    {%- endif -%}
    {{ return({"number": newest + 1, "after": none, "runs": none if runs else runs}) }}
{% endmacro %}


{# On the terminal, and to the statements of this model that run later (get_insert_into_sql, record_applied_files). #}
{% macro announce_new_files(feed, runs) %}
    {%- set files = runs | sum(attribute="file_count") -%}
    {%- set again = runs | sum(attribute="outdated_count") -%}
    {%- set said = files ~ (" new file, " if files == 1 else " new files, ") ~ (runs | sum(attribute="bytes")) ~ " bytes" if files else "no new files" -%}
    {%- do log(feed.name ~ ": " ~ said ~ (", " ~ again ~ " of them read again: columns are declared otherwise since, or a replay was asked for" if again else ""), info=true) -%}
    {%- do alluvium.remember("new_files", this, files) -%}
    {%- do alluvium.remember("files_read_again", this, again) -%}
{% endmacro %}


{% macro has_no_new_files() %}
    {{ return(alluvium.remembered("new_files", this) == 0) }}
{% endmacro %}


{#
    Exact line numbers whatever Spark made of the file: the block's start and the row's place in its task increase
    along a file, also when it is split (checked with 300 kB splits on 3.5.7). Records of containers carry theirs.
#}
{% macro line_number(feed) -%}
    {%- if feed.format == "json" -%}
        {{ "dense_rank" if alluvium.keeps_images_before(feed) else "row_number" }}() over (partition by file_path, file_length order by file_block_start, record_order)
    {%- else -%}
        record_order
    {%- endif -%}
{%- endmacro %}


{#
    Names of a column's text and value between the steps: apart from each other and from the record's own fields,
    whatever the source calls its columns. Columns of their own, not fields of a struct: Spark 3.5 inlines what
    makes a struct's fields into every use of them (CollapseProject), and the plan explodes.
#}
{% macro text_of(name) %}
    {{ return(alluvium.quoted_identifier("text__" ~ name)) }}
{% endmacro %}


{% macro value_of(name) %}
    {{ return(alluvium.quoted_identifier("value__" ~ name)) }}
{% endmacro %}
