{#
    What is computed whole has only the rows that a filter leaves, and loses all others. A filter is seen in the model,
    and in macros that are not this project's own, whichever of them calls it; hooks filter nothing.
#}
{% macro _require_no_own_filter(caller_name) %}
    {%- set code = namespace(of_model=model.raw_code) -%}
    {%- for hook in (model.config["pre-hook"] or []) + (model.config["post-hook"] or []) -%}
        {%- set code.of_model = code.of_model | replace(hook.sql, "") -%}
    {%- endfor -%}
    {%- set filters = [model.name] if alluvium._asks_for_the_run(code.of_model) else [] -%}
    {%- set names = [] -%}
    {%- for id in model.depends_on.macros if modules.re.search("\\b" ~ id.split(".")[-1] ~ "\\b", code.of_model) -%}
        {%- do names.append(id) -%}
    {%- endfor -%}
    {%- for id in names -%}
        {%- set macro = alluvium._macro_of_id(id) -%}
        {%- if macro is not none -%}
            {%- do filters.append(macro.name) if alluvium._asks_for_the_run(macro.macro_sql) -%}
            {%- do names.extend(macro.depends_on.macros | reject("in", names)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if filters -%}
        {% do alluvium._raise_invalid(
            caller_name ~ ": model " ~ model.name, "what calls is_incremental()", filters[0],
            "nothing: with incremental_strategy " ~ config.get("incremental_strategy") ~ " and file_format "
            ~ config.get("file_format")
            ~ " the table is computed whole, and would lose the rows that the filter leaves out. Take the filter away, "
            ~ "or merge into a table of Delta's (changed_keys, docs/guide/marts.md)",
        ) %}
    {%- endif -%}
{% endmacro %}


{# Whether some Jinja asks, by one of the usual ways, if its model adds to a table that is there. #}
{% macro _asks_for_the_run(jinja) %}
    {%- set code = modules.re.sub(
        "(?m:--(?:(?!\\{[{%]).)*$)|\\{#.*?#\\}|\\{%-?\\s*raw\\s*-?%\\}.*?\\{%-?\\s*endraw\\s*-?%\\}", "", jinja,
        flags=modules.re.DOTALL
    ) -%}
    {{ return(
        modules.re.search(
            "\\b(is_incremental|should_full_refresh)\\s*\\(|\\bload_relation\\s*\\(\\s*this\\b", code
        ) is not none
    ) }}
{% endmacro %}


{# As dbt has it; none for dbt's and this project's own, which say what is new and filter nothing else. #}
{% macro _macro_of_id(id) %}
    {%- set package, name = id.split(".")[1], id.split(".")[2] -%}
    {%- set macro = context.get(package, {}).get(name) if package not in ["dbt", "dbt_spark"] else none -%}
    {%- if macro is none
        or package == "alluvium" and modules.re.match(
            "macros/(checks|dbt|decode|deprecated|feeds|files|history|hudi|lib|marts|models|operations|purge|rules"
            "|state|tables)/",
            macro.macro.original_file_path
        ) -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(macro.macro) }}
{% endmacro %}
