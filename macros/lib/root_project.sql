{# `asked` is the macro, of dbt's manifest, that dbt calls for what `own` does here. #}
{% macro _require_passed_on(caller_name, purpose, own, asked) %}
    {%- if "macro.alluvium." ~ own not in [asked.unique_id] + asked.depends_on.macros -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "macro behind " ~ purpose, asked.unique_id,
            "alluvium." ~ own ~ ", or a macro " ~ own
            ~ " of the root project that calls it (docs/guide/use-as-package.md)",
        ) %}
    {%- endif -%}
{% endmacro %}


{# In another project, models of the same names there would get the tests of these. #}
{% macro _require_no_own_models() %}
    {%- set own = graph.nodes.values() | selectattr("resource_type", "equalto", "model")
        | selectattr("package_name", "equalto", "alluvium") | list -%}
    {%- if own and project_name != "alluvium" -%}
        {% do alluvium._raise_invalid(
            "alluvium", "model of the package", own[0].name,
            "none: install the folder that `alluvium package` prints, with `local:`",
        ) %}
    {%- endif -%}
{% endmacro %}
