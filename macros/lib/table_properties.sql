{# All of them by name. #}
{% macro _table_properties(table) %}
    {%- set properties = {} -%}
    {%- for key, value in alluvium._properties_as_shown(table).items() if key.startswith("alluvium.") -%}
        {%- set name = alluvium._text_of_shown("table_properties", key, key[9:]) -%}
        {%- do properties.update({name: alluvium._text_of_shown("table_properties", table ~ ": " ~ name, value)}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{#
    What tells a table from itself before it was built anew; of a change log also from itself before files were
    replayed, `none` as long as neither was.
#}
{% macro _generation(table) %}
    {{ return(alluvium._table_property(table, "generation")) }}
{% endmacro %}


{# The text of one of this project's properties of a table, `none` where it is not set. #}
{% macro _table_property(table, name) %}
    {{ return(alluvium._table_properties(table).get(name, "none")) }}
{% endmacro %}


{# Those of others, too, as Spark shows them: read once in a run, and kept as this run sets them. #}
{% macro _properties_as_shown(table) %}
    {%- set known = alluvium._remembered("properties", table) -%}
    {%- if known is not none -%}
        {{ return(known) }}
    {%- endif -%}
    {%- set shown = {} -%}
    {%- for row in alluvium._query_rows("show tblproperties " ~ table) -%}
        {%- do shown.update({row.key: row.value}) -%}
    {%- endfor -%}
    {%- do alluvium._remember("properties", table, shown) if alluvium._may_query() -%}
    {{ return(shown) }}
{% endmacro %}


{% macro _set_properties(table, properties, others={}) %}
    {%- do run_query(alluvium._set_properties_sql(table, properties, others)) -%}
    {%- set known = alluvium._remembered("properties", table) -%}
    {%- if known is not none -%}
        {%- do known.update(others) -%}
        {%- for name, value in properties.items() -%}
            {%- do known.update({"alluvium." ~ alluvium._shown_text(name): alluvium._shown_text(value)}) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro _unset_properties(table, names) %}
    {%- do run_query(alluvium._unset_properties_sql(table, names)) -%}
    {%- for name in names -%}
        {%- do (alluvium._remembered("properties", table) or {}).pop("alluvium." ~ alluvium._shown_text(name), none) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _unset_properties_sql(table, names) %}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(alluvium._string_literal("alluvium." ~ alluvium._shown_text(name))) -%}
    {%- endfor -%}
    {{ return("alter table " ~ table ~ " unset tblproperties if exists (" ~ quoted | join(", ") ~ ")") }}
{% endmacro %}


{# They are read again. #}
{% macro _forget_properties(table) %}
    {%- do alluvium._remember("properties", table, none) -%}
{% endmacro %}


{% macro _set_properties_sql(table, properties, others={}) -%}
    alter table {{ table }} set tblproperties (
        {%- for name, value in properties.items() -%}
        'alluvium.{{ alluvium._shown_text(name) }}' = '{{ alluvium._shown_text(value) }}'{{ ", " if not loop.last }}
        {%- endfor -%}
        {%- for name, value in others.items() -%}
        , '{{ name }}' = '{{ value }}'
        {%- endfor -%}
    )
{%- endmacro %}
