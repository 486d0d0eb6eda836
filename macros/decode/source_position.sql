{#
    The part of a position that the source says, as one text of fixed width: NULL, and no other value, where the record
    does not say it. By `order_by` or `sequence_by` where the feed declares one, else by its connector. The macro
    `_connectors` has what each sends.
#}
{% macro _source_position(feed) %}
    {#-
        concat is NULL where a part is. concat_ws skips the part, and what is left would sort above every complete
        position.
    -#}
    {{ return("concat(" ~ alluvium._source_position_parts(feed) | join(", '.', ") ~ ")") }}
{% endmacro %}


{# `r` says snapshot in every connector; only a signal-driven one has another `source.snapshot`. #}
{% macro _is_snapshot_row() %}
    {{ return("op = 'r'") }}
{% endmacro %}


{% macro _source_position_parts(feed) %}
    {%- if alluvium._has_declared_order(feed) -%}
        {{ return(alluvium._declared_position(feed)) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for part in alluvium._position_rules(feed) -%}
        {%- do parts.append(alluvium._position_part(part)) -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{% macro _position_part(part) -%}
    {%- set of_stream = alluvium._position_field(part, part.of) -%}
    {%- if part.in_snapshots is not defined -%}
        {%- set digits = of_stream -%}
    {%- else -%}
        {%- set of_snapshot = alluvium._string_literal(part.in_snapshots) if part.in_snapshots is string
            else alluvium._position_field(part, part.in_snapshots) -%}
        {%- set digits = "if(" ~ alluvium._is_snapshot_row() ~ ", " ~ of_snapshot ~ ", " ~ of_stream ~ ")" -%}
    {%- endif -%}
    lpad({{ digits }}, {{ part.width }}, '0')
{%- endmacro %}


{#
    Of the first field whose text is one; a field that is there and says something else is not taken for an absent one.
#}
{% macro _position_field(part, fields) -%}
    {%- set texts = [] -%}
    {%- for field in fields -%}
        {%- set pattern = field.get("pattern", "^0*([1-9][0-9]{0,19})$") -%}
        {%- set groups = [] -%}
        {%- for group in range(modules.re.compile(pattern).groups) -%}
            {%- do groups.append(
                "regexp_extract(source_" ~ field.field ~ ", " ~ alluvium._string_literal(pattern) ~ ", " ~ (group + 1)
                ~ ")"
            ) -%}
        {%- endfor -%}
        {%- set text = groups[0] if groups | length == 1 else "concat(" ~ groups | join(", ") ~ ")" -%}
        {%- do texts.append("nullif(" ~ ("lower(" ~ text ~ ")" if "a-f" in pattern else text) ~ ", '')") -%}
    {%- endfor -%}
    {%- if "default" in part -%}
        {%- do texts.append(
            "if(coalesce(source_" ~ fields[0].field ~ ", '') = '', " ~ alluvium._string_literal(part["default"])
            ~ ", null)"
        ) -%}
    {%- endif -%}
    {%- set text = texts[0] if texts | length == 1 else "coalesce(" ~ texts | join(", ") ~ ")" -%}
    {%- if "unlike" in part -%}
        {%- set of_version = part.unlike.unless -%}
        {%- set text =
            "if(source_" ~ part.unlike.field ~ " <=> source_" ~ fields[0].field
            ~ " and not coalesce(source_" ~ of_version.field ~ " rlike "
            ~ alluvium._string_literal(of_version.pattern) ~ ", false), null, " ~ text ~ ")" -%}
    {%- endif -%}
    {{ return(text) }}
{%- endmacro %}


{#
    Width of the part that the source says, which all rows of one snapshot share; 0 where they share none, since no
    reset and no move of a row is looked for then.
#}
{% macro _source_position_length(feed) %}
    {%- if alluvium._has_declared_order(feed) -%}
        {{ return(alluvium._declared_position_length(feed)) }}
    {%- endif -%}
    {%- set widths = alluvium._position_rules(feed) | map(attribute="width") | list -%}
    {{ return(widths | sum + widths | length - 1) }}
{% endmacro %}


{#
    What the position needs of the connector's `source`, or the clock where that is declared to order, as Debezium names
    it (3.7). Times are read as numbers, all others as texts, which show what is no number.
#}
{% macro _source_fields(feed) %}
    {%- if feed.order_by == "timestamp" -%}
        {{ return({"ts_ms": "bigint", "ts_us": "bigint"}) }}
    {%- endif -%}
    {%- set fields = {} -%}
    {%- for part in alluvium._position_rules(feed) -%}
        {%- set unlike = [part.unlike, part.unlike.unless] if part.unlike is defined else [] -%}
        {%- for field in part.of + unlike -%}
            {%- do fields.update({field.field: "bigint" if field.field == "ts_ms" else "string"}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# PostgreSQL's, of a position; zeros of a row of a snapshot. #}
{% macro _own_lsn(position) %}
    {{ return("substring(" ~ position ~ ", 22, 20)") }}
{% endmacro %}
