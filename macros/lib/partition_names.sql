{# dbt-spark writes what it is given between brackets: a text may name several, and any may be quoted. #}
{% macro _partition_names() %}
    {%- set partition_by, names = alluvium._own_config().get("partition_by") or [], [] -%}
    {%- for quoted, plain in modules.re.findall(
        "`((?:[^`]|``)+)`|([^,`]+)", ([partition_by] if partition_by is string else partition_by) | join(",")
    ) -%}
        {%- do names.append(quoted | replace("``", "`") or plain | trim) -%}
    {%- endfor -%}
    {{ return(names | select | list) }}
{% endmacro %}


{# As Spark finds a column, whatever its case. #}
{% macro _is_partition(name) %}
    {{ return(name | lower in alluvium._partition_names() | map("lower")) }}
{% endmacro %}


{# Of the columns of a query, with `name` and `dtype`. #}
{% macro _require_partitions(caller_name, columns) %}
    {%- for column in columns -%}
        {%- do alluvium._require_partition(caller_name, column.name, column.dtype) -%}
    {%- endfor -%}
{% endmacro %}


{#
    Types whose values would be other ones as a partition's. Delta (3.3.3) moves a time by the session's zone twice as
    it writes it, and takes bytes for UTF-8. Hudi (1.2.0) reads the names of folders: a time has whole seconds there, in
    the session's zone, and bytes are digits.
#}
{% macro _require_partition(caller_name, name, data_type) %}
    {%- if alluvium._is_partition(name)
        and (data_type in ["timestamp", "binary"] or data_type == "timestamp_ntz" and alluvium._is_hudi()) -%}
        {% do alluvium._raise_invalid(
            caller_name, "type of column " ~ name ~ ", which partition_by names,", data_type,
            "a type whose values are the same as a partition's, such as date or string"
            ~ (", where file_format is hudi" if data_type == "timestamp_ntz" else ""),
        ) %}
    {%- endif -%}
{% endmacro %}
