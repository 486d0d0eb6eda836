{#
    Stands for dbt-spark's own. Hudi commits a column to its own schema, and enters it in the catalog afterwards: after
    a kill in between it takes the column for one that is there, and no statement enters it (1.2.0). And of a table that
    a column was added to it takes the schema in a form of its own, in which two columns or fields of one name may be no
    two decimals: it reads the older files no more (`Can't redefine`, 1.2.0). Either table is written anew instead, and
    has no such past.
#}
{% macro spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
    {%- if alluvium._is_log(model) or alluvium._is_kept_by_key(model) -%}
        {%- do alluvium._require_columns_with_values(relation, add_columns or []) -%}
        {%- if remove_columns -%}
            {#- Delta drops no column of a table that does not map its columns' names. -#}
            {{ return(alluvium._rewrite_columns(
                relation, alluvium._columns_in_relation(relation),
                {"removed": remove_columns | map(attribute="name") | list, "retyped": {}}, add_columns or []
            )) }}
        {%- endif -%}
    {%- endif -%}
    {%- if remove_columns or not alluvium._is_own_hudi_table() -%}
        {{ return(dbt.spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns)) }}
    {%- endif -%}
    {%- set subject = "model " ~ relation.identifier -%}
    {%- set columns = alluvium._columns_in_relation(relation) -%}
    {%- set begun = alluvium._table_properties(relation).get("adds_columns", "").split() -%}
    {%- if begun | reject("in", columns | map(attribute="name") | map("lower") | list) | list
        or alluvium._has_decimals_of_one_name(columns + add_columns) -%}
        {%- do log(subject ~ ": rewritten for " ~ add_columns | map(attribute="name") | join(", "), info=true) -%}
        {%- do alluvium._rewrite_columns(relation, columns, {"removed": [], "retyped": {}}, add_columns) -%}
    {%- else -%}
        {%- do alluvium._require_clock_of_hudi(subject, relation) -%}
        {%- do alluvium._set_properties(
            relation, {"adds_columns": add_columns | map(attribute="name") | map("lower") | join(" ")}
        ) -%}
        {%- do dbt.spark__alter_relation_add_remove_columns(relation, add_columns, none) -%}
    {%- endif -%}
{% endmacro %}


{#
    The rows of a log, state or history would have NULL in a column that comes back: one that a log has dropped, or, as
    long as the declaration is the one that the table was made for, one that somebody has dropped by hand.
#}
{% macro _require_columns_with_values(relation, add_columns) %}
    {%- set properties = alluvium._table_properties(relation) -%}
    {%- set is_declared_so =
        "columns" in properties and properties["columns"] == alluvium._remembered("columns", relation) -%}
    {%- set names = add_columns | map(attribute="name") | map("lower") | list -%}
    {%- set dropped =
        names if is_declared_so else names | select("in", fromjson(properties.get("dropped_columns", "[]"))) | list -%}
    {%- if dropped -%}
        {% do alluvium._raise_invalid(
            "model " ~ relation.identifier, "new columns", dropped | join(", "),
            "columns that the table has not dropped: their values are gone from the rows that it has. It needs "
            ~ alluvium._rebuild_command(relation),
        ) %}
    {%- endif -%}
    {%- do alluvium._unset_properties(relation, ["columns"]) if "columns" in properties and not is_declared_so -%}
{% endmacro %}


{# Or a decimal and a struct. An array's elements are called `element` there, a map's values `value`. #}
{% macro _has_decimals_of_one_name(columns) %}
    {%- set types = {} -%}
    {%- for column in columns -%}
        {%- set named = (column.name ~ ":" ~ column.dtype) | lower | replace("array<", "array<element:")
            | replace("map<string,", "map<string,value:") -%}
        {%- for name, type in modules.re.findall("(\\w+):(decimal\\([^)]*\\)|struct)", named) -%}
            {%- do types.setdefault(name, []).append(type) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for found in types.values() if found | unique | list | length > 1 -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}
