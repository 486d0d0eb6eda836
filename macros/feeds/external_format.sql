{% macro _external_format(caller_name, external) %}
    {%- set allowed = ["json", "avro", "parquet"] -%}
    {{ return(
        alluvium._require_one_of(
            caller_name, "external.using", (external.using or external.file_format or "") | lower or none, allowed
        )
    ) }}
{% endmacro %}


{#
    Folders below the location are read whatever their names are: partition values come from the record, never
    from the path, so a space or an odd character in `country=United States` is no matter. The location itself is no
    pattern either: Spark would look for `stock [old]` as `stock o`, `stock l` or `stock d`.
#}
{% macro _external_options(external) %}
    {%- set options = {"recursiveFileLookup": "true", "__globPaths__": "false"} -%}
    {%- for option, value in (external.options or {}).items() -%}
        {%- do options.update({option: value | string}) -%}
    {%- endfor -%}
    {{ return(options) }}
{% endmacro %}
