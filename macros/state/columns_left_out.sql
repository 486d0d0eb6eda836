{#
    Which columns any event has left out that a table has applied: only the values of these are looked for in other
    events, and merged by their own positions. A property of the table names them; where it has none, as in a table of
    an earlier release, they are all columns that an event may leave out. It is written after the merge, with how far
    that came: where a run is killed in between, the next one applies the same events again and finds their columns.
#}
{% macro _columns_left_out(feed) %}
    {%- set noted = alluvium._remembered("columns_left_out", this) -%}
    {{ return(noted if noted is not none else alluvium._known_columns_left_out(feed)) }}
{% endmacro %}


{% macro _known_columns_left_out(feed) %}
    {%- if not is_incremental() -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set known = alluvium._table_property(this, "columns_left_out") -%}
    {%- set columns = alluvium._columns_of_unavailable_values(feed) -%}
    {{ return(columns if known in ["none", "all"] else columns | select("in", fromjson(known)) | list) }}
{% endmacro %}


{# To the model, the columns that the events to apply have left out; to its merge, those of all events. #}
{% macro _note_columns_left_out(feed, left_out) %}
    {#- As they are declared, however the events lie in batches: a row says them in this order. -#}
    {%- set columns = alluvium._columns_of_unavailable_values(feed) -%}
    {%- do feed.update({"filled_columns": columns | select("in", fromjson(left_out)) | list}) -%}
    {%- set noted = alluvium._known_columns_left_out(feed) + feed.filled_columns -%}
    {%- do alluvium._remember("columns_left_out", this, columns | select("in", noted) | list) if columns -%}
{% endmacro %}


{# An array of names. Those of a log name more: columns that the table does not have, and where a value is stored. #}
{% macro _columns_left_out_of_event(feed) %}
    {%- set columns = alluvium._columns_of_unavailable_values(feed) -%}
    {{ return(
        "array_intersect(_cdc_unavailable_columns, " ~ alluvium._literal_array(columns) ~ ")" if columns
        else "cast(null as array<string>)"
    ) }}
{% endmacro %}


{# As JSON: the drivers of the targets return arrays in different forms. #}
{% macro _columns_left_out_of_batch(left_out) %}
    {{ return("to_json(array_distinct(flatten(collect_set(" ~ left_out ~ "))))") }}
{% endmacro %}


{# The metastores of Hive keep 4,000 characters of a property. #}
{% macro _properties_of_columns_left_out() %}
    {%- set noted = alluvium._remembered("columns_left_out", this) -%}
    {%- if noted is none -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set value = tojson(noted | sort) -%}
    {%- set value = value if value | length < 4000 else "all" -%}
    {{ return({} if value == alluvium._table_property(this, "columns_left_out") else {"columns_left_out": value}) }}
{% endmacro %}
