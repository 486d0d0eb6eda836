{#
    Compares the living rows of a current table with a dump of the source, key by key and value by value, shows the
    first rows that differ, and fails where any does: what no event says (a skipped truncate, a cascade below the
    binlog, a delete that a connector or a sink dropped) is found by this alone. dbt run-operation reconcile --args
    '{model: slv_shop__orders, dump: /dumps/orders.csv, format: csv}' Values are compared as they are, NULL equal to
    NULL; a dump whose types could not hold or be held exactly is refused.
#}
{% macro reconcile(model, dump, format="relation", columns=none, rows=20) %}
    {%- if execute -%}
        {%- do alluvium._require_one_of("reconcile", "format", format, ["relation", "delta", "parquet", "csv"]) -%}
        {%- if rows is not integer or rows < 1 -%}
            {% do alluvium._raise_invalid("reconcile", "rows", rows, "a number of rows, such as 20") %}
        {%- endif -%}
        {%- set node = alluvium._current_table("reconcile", model) -%}
        {%- set feed = alluvium._feed_to_reconcile(alluvium._feed_of_node("reconcile", node), model, columns) -%}
        {{ return(alluvium._reconcile_model(node, feed, dump, format, rows)) }}
    {%- endif -%}
{% endmacro %}


{% macro _reconcile_model(node, feed, dump, format, rows) %}
    {%- set table = alluvium._relation_of_node(node) -%}
    {%- do alluvium._refresh_hudi_tables(table, node) -%}
    {%- set types = alluvium._dump_types(alluvium._dump_relation(dump, format)) -%}
    {%- set source = alluvium._dump_rows_sql(feed, alluvium._dump_relation(dump, format), types) -%}
    {%- set counts = alluvium._query_rows(alluvium._dump_counts_sql(feed, table, source))[0] -%}
    {%- if counts.dump_keys != counts.dump_rows -%}
        {% do alluvium._raise_invalid(
            "reconcile", "dump", dump,
            "one row per " ~ feed.key | join(", ") ~ "; this one has " ~ counts.dump_rows ~ " rows of "
            ~ counts.dump_keys ~ " keys"
        ) %}
    {%- endif -%}
    {%- set differences = alluvium._query_rows(alluvium._differences_sql(feed, table, source, rows)) -%}
    {%- for row in differences -%}
        {%- do log(row.verdict ~ " " ~ row.row_key ~ (" " ~ row.cells if row.cells else ""), info=true) -%}
    {%- endfor -%}
    {%- set said = table ~ " has " ~ counts.table_rows ~ " rows, " ~ dump ~ " has " ~ counts.dump_rows ~ ": " -%}
    {%- if differences -%}
        {{ exceptions.raise_compiler_error("reconcile: " ~ said ~ alluvium._verdict_counts(differences)) }}
    {%- endif -%}
    {%- do log("reconcile: " ~ said ~ "all equal in " ~ feed.columns | length ~ " columns", info=true) -%}
{% endmacro %}


{# The node of a current table: a state or the living rows of one. #}
{% macro _current_table(caller_name, name) %}
    {%- set found = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type == "model" -%}
        {%- set parents = node.depends_on.nodes | select("in", graph.nodes) | list -%}
        {%- if alluvium._is_state(node) or (
            parents | length == 1 and alluvium._is_state(graph.nodes[parents[0]]) and node.config.materialized == "view"
        ) -%}
            {%- do found.update({node.name: node}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do alluvium._require_one_of(caller_name, "model", name, found.keys() | sort) -%}
    {{ return(found[name]) }}
{% endmacro %}


{# With the key and the columns to compare only. #}
{% macro _feed_to_reconcile(feed, model, columns) %}
    {%- set names = feed.columns | map(attribute="name") | list -%}
    {%- for name in columns or [] -%}
        {% do alluvium._require_one_of("reconcile: model " ~ model, "columns", name, names) %}
    {%- endfor -%}
    {{ return(alluvium._feed_of_columns(feed, names if columns is none else columns)) }}
{% endmacro %}


{# What to select a dump from. A CSV is read as texts: Spark's own reading would round a decimal to its column. #}
{% macro _dump_relation(dump, format) %}
    {%- if format == "relation" -%}
        {{ return(dump) }}
    {%- elif format == "csv" -%}
        {%- do run_query(alluvium._create_dump_view_sql(dump)) -%}
        {{ return("alluvium_dump") }}
    {%- endif -%}
    {{ return(format ~ "." ~ alluvium._quoted_identifier(alluvium._absolute_location(dump))) }}
{% endmacro %}


{#
    As PostgreSQL's COPY writes it with HEADER: nothing is NULL, "" is an empty text, a quote is doubled. Spark (3.5.7)
    reads both as NULL as long as its text for NULL is the empty one.
#}
{% macro _create_dump_view_sql(dump) -%}
    create or replace temporary view alluvium_dump
    using csv
    options (
        'path' {{ alluvium._string_literal(alluvium._absolute_location(dump)) }},
        'header' 'true',
        'multiLine' 'true',
        'escape' '"',
        'nullValue' '\\u0000',
        'emptyValue' ''
    )
{%- endmacro %}


{# Name -> type of a dump's columns. #}
{% macro _dump_types(relation) %}
    {%- set types = {} -%}
    {%- for row in alluvium._query_rows("describe query select * from " ~ relation) -%}
        {%- do types.update({row.col_name: row.data_type}) -%}
    {%- endfor -%}
    {{ return(types) }}
{% endmacro %}


{# The dump with the types of the table, and by name the texts that are no value of their column. #}
{% macro _dump_rows_sql(feed, relation, types) -%}
    select
        {%- for column in feed.columns %}
        {{ alluvium._value_of(column.name) }} as {{ alluvium._quoted_identifier(column.name) }},
        {%- endfor %}
        map_from_entries(filter(
            array(
                {%- for column in feed.columns if types[column.name] == "string" and column.data_type != "string" %}
                {{ alluvium._dump_misfit(column) }},
                {%- endfor %}
                cast(null as struct<name: string, text: string>)
            ),
            misfit -> misfit is not null
        )) as misfits
    from (
        select
            *,
            {%- for column in feed.columns %}
            {{ alluvium._dump_value(column, types.get(column.name)) }} as {{ alluvium._value_of(column.name) }}
            {{- "," if not loop.last }}
            {%- endfor %}
        from (
            select
                {%- for column in feed.columns %}
                {{ alluvium._dump_text(column, types.get(column.name)) }} as {{ alluvium._text_of(column.name) }},
                {%- endfor %}
                cast(null as map<string, string>) as semantic_types
            from {{ relation }}
        ) as texts
    ) as typed
{%- endmacro %}


{# One value of the dump in the table's type, exactly. #}
{% macro _dump_value(column, given) %}
    {%- set text = alluvium._text_of(column.name) -%}
    {%- if given == column.data_type -%}
        {{ return(text) }}
    {%- elif given == "string" and alluvium._base_type(column.data_type) not in ["array", "map", "struct"] -%}
        {{ return(alluvium._decode_value(alluvium._text_column(column), {"binary_handling_mode": "hex"}, text)) }}
    {%- elif given is not none and alluvium._holds_exactly(column.data_type, given) -%}
        {{ return("cast(" ~ text ~ " as " ~ column.data_type ~ ")") }}
    {%- endif -%}
    {%- if given is none -%}
        {% do alluvium._raise_invalid(
            "reconcile", "column " ~ column.name ~ " of the dump", none, "a dump that has it, or `columns` without it"
        ) %}
    {%- endif -%}
    {% do alluvium._raise_invalid(
        "reconcile", "type of the dump's column " ~ column.name, given,
        [column.data_type, "a narrower number", "string"] | unique | join(", ")
        ~ "; make a view of the dump with it, or leave the column out of `columns`",
    ) %}
{% endmacro %}


{# The column as its plain text is decoded: ISO dates and times, decimal digits. #}
{% macro _text_column(column) %}
    {%- set types = {
        "date": "io.debezium.time.IsoDate", "timestamp_ntz": "io.debezium.time.IsoTimestamp",
        "timestamp": "io.debezium.time.ZonedTimestamp",
        "decimal": "decimal",
    } -%}
    {{ return({
        "name": column.name,
        "data_type": column.data_type,
        "cdc": {"semantic_type": types.get(alluvium._base_type(column.data_type))},
    }) }}
{% endmacro %}


{# Databases write `2024-05-01 12:00:00+00` and `\x00ff`. #}
{% macro _dump_text(column, given) %}
    {%- set name = alluvium._quoted_identifier(column.name) -%}
    {%- if given != "string" -%}
        {{ return(name) }}
    {%- elif alluvium._base_type(column.data_type) == "timestamp" -%}
        {{ return("regexp_replace(replace(" ~ name ~ ", ' ', 'T'), '([+-][0-9]{2})$', '$1:00')") }}
    {%- elif alluvium._base_type(column.data_type) == "timestamp_ntz" -%}
        {{ return("replace(" ~ name ~ ", ' ', 'T')") }}
    {%- elif column.data_type == "binary" -%}
        {{ return("regexp_replace(" ~ name ~ ", '^[\\\\\\\\]x', '')") }}
    {%- endif -%}
    {{ return(name) }}
{% endmacro %}


{# Name and text where a text is no value of its column, else NULL. #}
{% macro _dump_misfit(column) -%}
    {%- set text, value = alluvium._text_of(column.name), alluvium._value_of(column.name) -%}
    {%- set changed = alluvium._is_changed_value(column, text, value) -%}
    if(
                    {{ text }} is not null and ({{ value }} is null{{ " or " ~ changed if changed }}),
                    struct({{ alluvium._string_literal(column.name) }} as name, {{ text }} as text),
                    null
                )
{%- endmacro %}


{# Whether each value of one number type is one of another. #}
{% macro _holds_exactly(wide, narrow) %}
    {%- set digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19} -%}
    {%- if wide in digits and narrow in digits -%}
        {{ return(digits[wide] >= digits[narrow]) }}
    {%- elif wide.startswith("decimal") and (narrow.startswith("decimal") or narrow in digits) -%}
        {%- set scale = alluvium._decimal_scale(narrow) -%}
        {%- set whole = digits[narrow] if narrow in digits else alluvium._decimal_precision(narrow) - scale -%}
        {{ return(
            scale <= alluvium._decimal_scale(wide)
            and whole <= alluvium._decimal_precision(wide) - alluvium._decimal_scale(wide)
        ) }}
    {%- endif -%}
    {{ return(false) }}
{% endmacro %}


{% macro _dump_counts_sql(feed, table, source) -%}
    select
        (select count(*) from {{ table }}{{ alluvium._current_condition(table) }}) as table_rows,
        count(*) as dump_rows,
        count(distinct struct({{ alluvium._column_list(feed.key) | join(", ") }})) as dump_keys
    from (
        {{ source | indent(8) }}
    ) as dump
{%- endmacro %}


{# A state has tombstones, too. #}
{% macro _current_condition(table) %}
    {{ return(
        " where not _is_deleted" if "_is_deleted" in adapter.get_columns_in_relation(table) | map(attribute="name")
        else ""
    ) }}
{% endmacro %}


{# The first `rows` rows of each kind that differ, in the order of the key, with how many of the kind there are. #}
{% macro _differences_sql(feed, table, source, rows) -%}
with dump as (
    {{ source | indent(4) }}
),

living as (
    select *
    from {{ table }}{{ alluvium._current_condition(table) }}
),

compared as (
    select
        case
            when living._cdc_position is null then 'missing'
            when dump.misfits is null then 'extra'
            else 'different'
        end as verdict,
        {%- for name in feed.key %}
        {%- set column = alluvium._quoted_identifier(name) %}
        if(living._cdc_position is null, dump.{{ column }}, living.{{ column }}) as {{ column }},
        {%- endfor %}
        {{ alluvium._cells_of_difference(feed) | indent(8) }} as cells
    from living
    full outer join dump on {{ alluvium._same_key(feed, "living", "dump") }}
),

ordered as (
    select
        verdict,
        concat_ws(
            ', ',
            {%- for column in feed.columns if column.name in feed.key %}
            concat({{ alluvium._string_literal(column.name ~ "=") }}, {{ alluvium._shown_value(column, "") }})
            {{- "," if not loop.last }}
            {%- endfor %}
        ) as row_key,
        if(verdict = 'different', array_join(cells, '; '), '') as cells,
        count(*) over (partition by verdict) as row_count,
        row_number() over (
            partition by verdict order by {{ alluvium._column_list(feed.key) | join(", ") }}
        ) as row_number
    from compared
    where verdict <> 'different' or size(cells) > 0
)

select
    verdict,
    row_key,
    cells,
    row_count
from ordered
where row_number <= {{ rows }}
order by verdict, row_number
{%- endmacro %}


{# `column: value here, value in the dump` of each column that differs. #}
{% macro _cells_of_difference(feed) -%}
    filter(
        array(
            {%- for column in feed.columns %}
            {%- set name = alluvium._quoted_identifier(column.name) %}
            if(
                {{ alluvium._comparable("living." ~ name, column.data_type) }}
                    <=> {{ alluvium._comparable("dump." ~ name, column.data_type) }}
                and dump.misfits[{{ alluvium._string_literal(column.name) }}] is null
                and array_contains(
                    living._cdc_unresolved_columns, {{ alluvium._string_literal(column.name) }}
                ) is not true,
                null,
                concat(
                    {{ alluvium._string_literal(column.name ~ ": ") }},
                    {{ alluvium._shown_value(column, "living.") }},
                    ', in the dump ',
                    {{ alluvium._shown_value(column, "dump.") }}
                )
            ){{ "," if not loop.last }}
            {%- endfor %}
        ),
        cell -> cell is not null
    )
{%- endmacro %}


{# A value as text; of the dump its own text where it is no value. #}
{% macro _shown_value(column, from) %}
    {%- set value = from ~ alluvium._quoted_identifier(column.name) -%}
    {%- set text = "hex(" ~ value ~ ")" if column.data_type == "binary" else "cast(" ~ value ~ " as string)" -%}
    {%- set text = "concat('\"', " ~ value ~ ", '\"')" if column.data_type == "string" else text -%}
    {%- set name = alluvium._string_literal(column.name) -%}
    {%- if from == "living." -%}
        {%- set text = "if(array_contains(living._cdc_unresolved_columns, " ~ name ~ "), 'not known', " ~ text ~ ")" -%}
    {%- elif from == "dump." -%}
        {%- set text = "dump.misfits[" ~ name ~ "], " ~ text -%}
    {%- endif -%}
    {{ return("coalesce(" ~ text ~ ", 'NULL')") }}
{% endmacro %}


{% macro _verdict_counts(differences) %}
    {%- set counts = {"missing": 0, "extra": 0, "different": 0} -%}
    {%- for row in differences -%}
        {%- do counts.update({row.verdict: row.row_count}) -%}
    {%- endfor -%}
    {{ return(
        counts.missing ~ " rows are missing, " ~ counts.extra ~ " are there that the dump has not, " ~ counts.different
        ~ " are different"
    ) }}
{% endmacro %}
