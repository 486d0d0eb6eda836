{# The post-hook. Written after the append, so it may lag after a kill, and never runs ahead. #}
{% macro record_cut() %}
    {%- set cut = alluvium._remembered("cut", this) if execute else none -%}
    {%- if cut and not alluvium._has_no_new_files() -%}
        {%- do alluvium._drop_corrected_rows(this, cut.change_log) -%}
        {%- set properties = {
            "cut_batch": cut.cut_batch,
            "cut_position": cut.cut_position,
            "cut_number": alluvium._latest_log_batch(this),
            "applied_generation." ~ cut.change_log.split(".") | last: cut.generation,
        } -%}
        {%- do properties.update({"generation": alluvium._run_id()}) if cut.is_built_anew -%}
        {%- do alluvium._set_properties(this, properties) -%}
    {%- endif -%}
{% endmacro %}
