{% macro _require_full_dumps(subject, feed) %}
    {%- set subject = subject ~ ": meta.cdc.full_dumps" -%}
    {%- set dumps = feed.full_dumps -%}
    {%- if dumps is not mapping or dumps.path is not string -%}
        {% do alluvium._raise_invalid(
            subject, "path", dumps, "{path: <regular expression with one group>, delay_seconds: <number>}"
        ) %}
    {%- endif -%}
    {%- for option in dumps -%}
        {% do alluvium._require_one_of(subject, "option", option, ["path", "delay_seconds"]) %}
    {%- endfor -%}
    {%- if modules.re.compile(dumps.path).groups != 1 or "(?P" in dumps.path -%}
        {% do alluvium._raise_invalid(
            subject, "path", dumps.path,
            "a regular expression with one group (without a name), the time of the dump, such as `/full/([^/]+)/`"
        ) %}
    {%- endif -%}
    {%- if dumps.get("delay_seconds") is not integer or dumps.delay_seconds < 0 -%}
        {% do alluvium._raise_invalid(
            subject, "delay_seconds", dumps.get("delay_seconds"),
            "how many seconds a transaction of the source may be open, such as 60"
        ) %}
    {%- endif -%}
    {%- do alluvium._require_order_for_dumps(subject, feed) -%}
{% endmacro %}


{# What says at which place among the rows a dump was taken. #}
{% macro _require_order_for_dumps(subject, feed) %}
    {%- if feed.shape != "row" or not feed.sequence_by -%}
        {% do alluvium._raise_invalid(
            subject, "feed", feed.shape ~ " without sequence_by",
            "a feed of rows with sequence_by; Debezium's snapshots say themselves what they are"
        ) %}
    {%- endif -%}
    {%- for name in feed.sequence_by -%}
        {%- set type = alluvium._base_type(alluvium._column_of(feed, name).data_type) -%}
        {%- set allowed = alluvium._sortable_types() | reject("equalto", "string") | list if loop.index0
            else ["timestamp", "timestamp_ntz"] -%}
        {% do alluvium._require_one_of(
                subject, "data_type of the column " ~ name ~ " in meta.cdc.sequence_by", type, allowed
            ) %}
    {%- endfor -%}
    {%- if feed.ignored_null_columns -%}
        {% do alluvium._raise_invalid(
            subject, "ignored NULLs of", feed.ignored_null_columns, "none: a dump says what is NULL"
        ) %}
    {%- endif -%}
{% endmacro %}
