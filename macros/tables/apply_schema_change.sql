{#
    Brings a table that a model is merged or appended to level with columns that its source declares otherwise than when
    it was built, as the model's `on_schema_change` says, before the model's SQL is compiled. dbt's own names and
    meanings; but what dbt does for each adapter with statements of its own (Delta and Hudi drop and alter columns
    differently, or not at all) is one rewrite here, atomic and the same on both. New columns are left to dbt, which
    adds them. A table without a key counts its rows by their whole images: other columns make other rows of them.
    `change_log` and `after`, of a table that is merged: what it reads, and the newest batch that it has applied.
#}
{% macro _apply_schema_change(feed, change_log=none, after=none, has_news=false) %}
    {%- set subject = "model " ~ this.identifier -%}
    {#- The other format has other types for some columns, which would be told as a change of theirs. -#}
    {%- do alluvium._require_format_of_table("apply_schema_change") -%}
    {%- set policy = config.get("on_schema_change") or "ignore" -%}
    {%- do alluvium._require_one_of(
        subject, "on_schema_change", policy, ["ignore", "fail", "append_new_columns", "sync_all_columns"]
    ) -%}
    {%- if not has_news and alluvium._table_property(this, "columns") == alluvium._fingerprint_of_columns(feed) -%}
        {%- do alluvium._note_columns(feed) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set columns = alluvium._columns_in_relation(this) -%}
    {%- set change = alluvium._schema_change(columns, feed) -%}
    {%- do alluvium._note_columns(feed) if not (change.added or change.removed or change.retyped) -%}
    {%- do alluvium._require_allowed_schema_change(subject, policy, change, feed) -%}
    {%- do alluvium._require_no_values_of_applied_batches(subject, change.added, change_log, after)
        if change_log and change.added and policy != "ignore" -%}
    {%- for column in feed.columns if column.name in change.added and "default" in column.cdc -%}
        {%- do alluvium._warn(
            subject ~ ": the new column " ~ column.name
            ~ " has a default, and rows that are here already have NULL in it until "
            ~ alluvium._rebuild_command(this)
        ) -%}
    {%- endfor -%}
    {%- set rewritten = change.removed + change.retyped.keys() | list if policy == "sync_all_columns" else [] -%}
    {%- if rewritten -%}
        {%- do log(
                subject ~ ": rewritten for " ~ rewritten | join(", ") ~ " (on_schema_change: sync_all_columns)",
                info=true
            ) -%}
        {%- do alluvium._rewrite_columns(this, columns, change) -%}
    {%- else -%}
        {%- do alluvium._remember("columns_of_table", this, columns) -%}
    {%- endif -%}
    {%- if policy != "ignore" and not alluvium._is_hudi() and alluvium._adds_local_time(feed, change.added) -%}
        {#- A table of Delta's (3.3.3) that was created without such a column takes none. -#}
        {%- do run_query("alter table " ~ this ~ " set tblproperties ('delta.feature.timestampNtz' = 'supported')") -%}
    {%- endif -%}
    {{ return(policy == "ignore" or not change.added) }}
{% endmacro %}


{#
    The declared columns in short. A table that is known to have them keeps this as a property, so that a run with
    nothing new does not ask for its columns. A state or history with news does: somebody may have dropped a column, and
    dbt would add it again without the values of the rows that are here.
#}
{% macro _fingerprint_of_columns(feed) %}
    {%- set columns = [] -%}
    {%- for column in feed.columns -%}
        {%- do columns.append([column.name, column.data_type]) -%}
    {%- endfor -%}
    {{ return(local_md5(tojson(columns))) }}
{% endmacro %}


{# The table has the declared columns, or is made with them. A unit test has no table. #}
{% macro _note_columns(feed) %}
    {%- do alluvium._remember("columns", this, alluvium._fingerprint_of_columns(feed)) if alluvium._is_run() -%}
{% endmacro %}


{# What the table is still to be told of its columns. #}
{% macro _properties_of_columns() %}
    {%- set known = alluvium._remembered("columns", this) -%}
    {{ return({"columns": known} if known and known != alluvium._table_property(this, "columns") else {}) }}
{% endmacro %}


{% macro _adds_local_time(feed, added) %}
    {{ return(
            "timestamp_ntz" in feed.columns | selectattr("name", "in", added) | map(attribute="data_type") | join(" ")
        ) }}
{% endmacro %}


{# The names of columns that are new, those that are no longer declared, and both types of those whose type differs. #}
{% macro _schema_change(columns, feed) %}
    {%- set types = {} -%}
    {%- for column in columns if not alluvium._is_own_column(column.name) -%}
        {%- do types.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {%- set declared = feed.columns | map(attribute="name") | list -%}
    {%- set retyped = {} -%}
    {#- The names of a struct's fields are the source's, whose case Spark may not keep. -#}
    {%- for column in feed.columns
        if column.name in types and "struct" not in column.data_type | lower
        and alluvium._stored_type(column.data_type) != types[column.name] -%}
        {%- do retyped.update({
            column.name: {"from": types[column.name], "to": alluvium._stored_type(column.data_type)}
        }) -%}
    {%- endfor -%}
    {{ return({
        "added": declared | reject("in", types) | list,
        "removed": types | reject("in", declared) | list,
        "retyped": retyped,
    }) }}
{% endmacro %}


{#
    A column that the table left out for a time (`ignore`), or dropped and gets again (`sync_all_columns`): the events
    that it has applied have brought values, and rows would lack them until their keys have others. An event from before
    the column was declared has none in the log either.
#}
{% macro _require_no_values_of_applied_batches(subject, names, change_log, after) %}
    {%- set found = alluvium._query_rows(alluvium._columns_with_values_sql(change_log, names, after))[0].names -%}
    {%- if found -%}
        {% do alluvium._raise_invalid(
            subject, "new columns", found,
            "columns without values in batches that the table has applied; with these it needs "
            ~ alluvium._rebuild_command(this),
        ) %}
    {%- endif -%}
{% endmacro %}


{% macro _columns_with_values_sql(change_log, names, until) -%}
select concat_ws(
    ', ',
    {%- for name in names %}
    if(count({{ alluvium._quoted_identifier(name) }}) > 0, {{ alluvium._string_literal(name) }}, null)
    {{- "," if not loop.last }}
    {%- endfor %}
) as names
from {{ change_log }}
where _cdc_batch <= {{ until }}
{%- endmacro %}


{# Nothing is rounded, cut or forgotten without being asked for. #}
{% macro _require_allowed_schema_change(subject, policy, change, feed) %}
    {%- set rebuild = alluvium._rebuild_command(this) -%}
    {%- for name, types in change.retyped.items() -%}
        {%- if name in (feed.sequence_by or []) -%}
            {#- Positions of two widths would be compared as texts. -#}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ name ~ " in meta.cdc.sequence_by", types["to"],
                types["from"] ~ ", as the table has it; another one needs " ~ rebuild,
            ) %}
        {%- elif not alluvium._is_widened(types["from"], types["to"]) -%}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ name, types["to"],
                types["from"] ~ ", as the table has it, or a wider type; another one needs " ~ rebuild,
            ) %}
        {%- elif policy != "sync_all_columns" or not feed.key -%}
            {% do alluvium._raise_invalid(
                subject, "type of column " ~ name, types["to"],
                types["from"] ~ ", as the table has it; "
                ~ ("a wider one needs on_schema_change: sync_all_columns, or " if feed.key else "another one needs ")
                ~ rebuild,
            ) %}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in change.added if policy != "sync_all_columns" and name | lower in change.removed | map("lower") -%}
        {#- Spark has no two columns whose names differ in their case alone. -#}
        {% do alluvium._raise_invalid(
            subject, "declared columns", feed.columns | map(attribute="name") | list,
            "columns of other names than those of the table, which has " ~ name
            ~ " in another case; on_schema_change: sync_all_columns renames it, and so does " ~ rebuild,
        ) %}
    {%- endfor -%}
    {%- set delete_policy = ((config.get("meta") or {}).get("cdc") or {}).get("delete_policy") -%}
    {%- if change.removed and policy != "sync_all_columns" and delete_policy == "hard" -%}
        {#- A column that no merge names any more would keep the values of rows that are deleted. -#}
        {% do alluvium._raise_invalid(
            subject, "on_schema_change", policy,
            "sync_all_columns, which drops " ~ change.removed | join(", ")
            ~ ": deletes are hard, and would leave values there; or " ~ rebuild,
        ) %}
    {%- elif change.removed and (policy == "fail" or not feed.key) -%}
        {% do alluvium._raise_invalid(
            subject, "declared columns", feed.columns | map(attribute="name") | list,
            "all columns of the table, " ~ change.removed | join(", ") ~ " too; without it the table needs " ~ rebuild,
        ) %}
    {%- endif -%}
    {%- if change.added and policy == "ignore" and config.get("incremental_strategy") == "append" -%}
        {% do alluvium._raise_invalid(
            subject, "on_schema_change", policy,
            "append_new_columns or sync_all_columns for a change log: what reads it reads " ~ change.added | join(", "),
        ) %}
    {%- elif change.added and policy == "fail" -%}
        {% do alluvium._raise_invalid(
            subject, "declared columns", feed.columns | map(attribute="name") | list,
            "those of the table, without " ~ change.added | join(", ") ~ " (on_schema_change: fail)",
        ) %}
    {%- endif -%}
{% endmacro %}


{#
    Whether every value of one type is one of the other, and comes out as it would from the event itself. Not float to
    double: 0.1 as a float is another number than 0.1 as a double.
#}
{% macro _is_widened(from_type, to_type) %}
    {%- set digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19} -%}
    {%- if from_type in digits and to_type in digits -%}
        {{ return(digits[from_type] < digits[to_type]) }}
    {%- endif -%}
    {%- if to_type.startswith("decimal") and (from_type.startswith("decimal") or from_type in digits) -%}
        {%- set scale = alluvium._decimal_scale(from_type) -%}
        {%- set whole = digits[from_type] if from_type in digits else alluvium._decimal_precision(from_type) - scale -%}
        {%- set new_scale = alluvium._decimal_scale(to_type) -%}
        {{ return(alluvium._decimal_precision(to_type) - new_scale >= whole and new_scale >= scale) }}
    {%- endif -%}
    {{ return(false) }}
{% endmacro %}


{% macro _rewrite_columns(table, columns, change, added=[]) %}
    {%- set properties = alluvium._query_rows("show tblproperties " ~ table) -%}
    {%- do run_query(alluvium._rewrite_columns_sql(table, columns, change, properties, added)) -%}
{% endmacro %}


{#
    One atomic commit; the table keeps its place, its partitions and its properties, and with these what it has applied.
    Not `columns`: it has others from here on. A log has no source but files that it does not read again, so it keeps
    the names of those that it has dropped (_require_columns_with_values).
#}
{% macro _rewrite_columns_sql(table, columns, change, properties, added=[]) %}
    {#-
        The model's partitions are those of the new table: others would have its values without a check of them
        (_partitioned_rows).
    -#}
    {%- do alluvium._require_partitions_of_table("rewrite_columns_sql", table) -%}
    {%- set properties =
        properties | rejectattr("key", "in", ["alluvium.columns", "alluvium.adds_columns"]) | list -%}
    {%- do (alluvium._remembered("properties", table) or {}).pop("alluvium.columns", none) -%}
    {%- if alluvium._is_log(model) and change.removed -%}
        {%- set known = fromjson(alluvium._table_properties(table).get("dropped_columns", "[]")) -%}
        {%- set dropped = tojson((known + change.removed | map("lower") | list) | unique | list) -%}
        {%- set properties = properties | rejectattr("key", "equalto", "alluvium.dropped_columns") | list + [
            {"key": "alluvium.dropped_columns", "value": alluvium._shown_text(dropped)}
        ] -%}
    {%- endif -%}
    {%- if alluvium._is_hudi() -%}
        {%- set own = {} -%}
        {%- for property in properties if property.key.startswith("alluvium.") -%}
            {%- do own.update({property.key: property.value}) -%}
        {%- endfor -%}
        {{ return(
                alluvium._replace_hudi_table(table, alluvium._rewritten_columns_sql(table, columns, change, added), own)
            ) }}
    {%- endif -%}
    {{ return(alluvium._table_with_columns_sql(table, columns, change, properties, added)) }}
{% endmacro %}


{% macro _table_with_columns_sql(table, columns, change, properties, added=[]) -%}
create or replace table {{ table }}
using delta
{%- for property in properties if alluvium._is_kept_property(property.key) %}
{{ "tblproperties (" if loop.first }}
    {{ alluvium._string_literal(property.key) }} = {{ alluvium._string_literal(alluvium._kept_value(table, property)) }}
    {{- "," if not loop.last }}
{{ ")" if loop.last }}
{%- endfor %}
{{ partition_cols(label="partitioned by") }}
{{ location_clause() }}
as
{{ alluvium._rewritten_columns_sql(table, columns, change, added) }}
{%- endmacro %}


{% macro _rewritten_columns_sql(table, columns, change, added=[]) -%}
select
    {%- for column in columns if column.name not in change.removed %}
    {%- set name = alluvium._quoted_identifier(column.name) %}
    {% if column.name in change.retyped %}cast({{ name }} as {{ change.retyped[column.name]["to"] }}) as {% endif %}
    {{- name }}{{ "," if added or not loop.last }}
    {%- endfor %}
    {%- for column in added %}
    cast(null as {{ alluvium._stored_type(column.dtype) }}) as {{ alluvium._quoted_identifier(column.name) }}
    {{- "," if not loop.last }}
    {%- endfor %}
from {{ table }}
{%- endmacro %}


{# As the table has it; where Spark hides that, as the model says it. #}
{% macro _kept_value(table, property) %}
    {%- set given = config.get("tblproperties") or {} -%}
    {%- if alluvium._is_hidden(property.value) and property.key in given -%}
        {{ return(given[property.key]) }}
    {%- endif -%}
    {%- do
        alluvium._require_shown("rewrite_columns_sql", "property " ~ property.key ~ " of " ~ table, property.value) -%}
    {{ return(property.value) }}
{% endmacro %}


{# Delta derives the protocol from the others, and refuses to be told. #}
{% macro _is_kept_property(name) %}
    {{ return(
            not name.startswith("delta.feature.") and name not in ["delta.minReaderVersion", "delta.minWriterVersion"]
        ) }}
{% endmacro %}
