{#
    A merge, described once for both formats. Besides `on`, a condition on `target` and `source`:
        delete_when                     matched rows that go
        update_when, set                matched rows that change, all where no condition is given, and the new values by
                                        column
        insert                          the values by column of rows that the target does not have
        unmatched_when, set_unmatched   rows that the source does not have and that change
    A clause that is not described is not there. The format is the model's; an operation, which is none, names it.
#}
{% macro _merge_sql(target, source, merge, file_format=none) %}
    {{ return(
        alluvium._upsert_sql(target, source, merge) if (file_format or config.get("file_format")) == "hudi"
        else alluvium._merge_of_delta_sql(target, source, merge)
    ) }}
{% endmacro %}


{% macro _merge_of_delta_sql(target, source, merge) -%}
    merge into {{ target }} as target
    using {{ source }} as source
    on {{ merge.on }}
    {%- if merge.delete_when %}
    when matched and {{ merge.delete_when }}
        then delete
    {%- endif %}
    {%- if merge.set %}
    when matched
        {%- if merge.update_when %}
        and (
            {{ merge.update_when | indent(12) }}
        )
        {%- endif %}
        then update set
            {{ alluvium._assignments(merge.set) | indent(12) }}
    {%- endif %}
    {%- if merge.insert %}
    when not matched
        then insert ({{ alluvium._column_list(merge.insert.keys()) | join(", ") }})
        values ({{ merge.insert.values() | join(", ") }})
    {%- endif %}
    {%- if merge.unmatched_when %}
    when not matched by source
        and {{ merge.unmatched_when | indent(8) }}
        then update set
            {{ alluvium._assignments(merge.set_unmatched) | indent(12) }}
    {%- endif %}
{%- endmacro %}


{% macro _assignments(values) %}
    {%- set assigned = [] -%}
    {%- for name, value in values.items() -%}
        {%- do assigned.append(alluvium._quoted_identifier(name) ~ " = " ~ value) -%}
    {%- endfor -%}
    {{ return(assigned | join(",\n")) }}
{% endmacro %}


{#
    The same rows as whole ones, which Hudi writes without a condition of its own. Its MERGE INTO (1.0.2 to 1.2.0) is
    wrong in silence: on Merge on Read a condition on a column of the target is never true, and an update is taken where
    a delete stands before it. The joins may become a MERGE when tests/python/hudi/test_bugs_of_hudi.py fails, which
    shows both.
#}
{% macro _upsert_sql(target, source, merge) -%}
    {%- set columns = adapter.get_columns_in_relation(target) | map(attribute="name") | list -%}
    insert into {{ target }} ({{ alluvium._column_list(columns) | join(", ") }})
    select
        {%- for name in columns %}
        {{ alluvium._upserted_value(name, merge) | indent(8) }} as {{ alluvium._quoted_identifier(name) }}
        {{- "," if not loop.last }}
        {%- endfor %}
    from {{ source }} as source
    {{ "left" if merge.insert else "inner" }} join {{ target }} as target on {{ merge.on }}
    {%- if merge.update_when %}
    where
        {%- if merge.insert %}
        target._hoodie_record_key is null
        or
        {%- endif %}
        {%- if merge.delete_when %}
        {{ merge.delete_when }}
        or
        {%- endif %}
        {{ merge.update_when | indent(8) }}
    {%- endif %}
    {%- if merge.unmatched_when %}
    union all
    select
        {%- for name in columns %}
        {{ merge.set_unmatched.get(name, "target." ~ alluvium._quoted_identifier(name)) | string | indent(8) }} as {{
            alluvium._quoted_identifier(name)
        }}{{ "," if not loop.last }}
        {%- endfor %}
    from {{ target }} as target
    left anti join {{ source }} as source on {{ merge.on }}
    where {{ merge.unmatched_when | indent(8) }}
    {%- endif %}
{%- endmacro %}


{#
    A column that the model does not have any more stays as it is; so does the record key of a row that is there, whose
    text may be another one since the type of a key column was widened (`1.10`, `1.1000`). A row that goes is written
    with the operation that Hudi takes for a delete (_hudi_properties in this folder).
#}
{% macro _upserted_value(name, merge) %}
    {%- set kept = "target." ~ alluvium._quoted_identifier(name) -%}
    {%- set value = kept if name == "_cdc_record_key" else merge.set.get(name, kept) -%}
    {%- if merge.delete_when and name == "_cdc_op" -%}
        {%- set value =
            "if(" ~ merge.delete_when ~ ", " ~ alluvium._string_literal(alluvium._removed_op()) ~ ", " ~ value ~ ")" -%}
    {%- endif -%}
    {%- set inserted = merge.insert.get(name, "null") if merge.insert else value -%}
    {{ return(
        value | string if inserted == value
        else "if(target._hoodie_record_key is null, " ~ inserted ~ ", " ~ value ~ ")"
    ) }}
{% endmacro %}


{# The values of the source by column. #}
{% macro _source_values(columns) %}
    {%- set values = {} -%}
    {%- for name in columns -%}
        {%- do values.update({name: "source." ~ alluvium._quoted_identifier(name)}) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}
