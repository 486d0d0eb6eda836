{#
    Columns whose value the source did not send with an event, by the table `_unavailable_values`: the SQL expression of
    the array of their names, NULL where there is none. Behind the name of a column whose value was stored elsewhere is
    `<name>: <reference>`.
#}
{% macro _unavailable_columns(feed) %}
    {%- set names = [] -%}
    {%- for column in alluvium._listed_to_decode(feed) if alluvium._may_be_unavailable(column, feed) -%}
        {%- set of_column = alluvium._names_if_unavailable(column, feed) -%}
        {%- do names.append(
            "flatten(" ~ alluvium._of_each(column, of_column) ~ ")" if column.names else of_column | indent(4)
        ) -%}
    {%- endfor -%}
    {%- if not names -%}
        {{ return("cast(null as array<string>)") }}
    {%- endif -%}
    {%- set found = "concat(\n    " ~ names | join(",\n    ") ~ "\n)" -%}
    {{ return("if(" ~ alluvium._kind_of_record(feed) ~ " = 'change', " ~ alluvium._array_or_null(found) ~ ", null)") }}
{% endmacro %}


{% macro _names_if_unavailable(column, feed) -%}
{%- set name = alluvium._name_in_record(column) -%}
{%- set reference = alluvium._is_reference(column, feed) -%}
{%- set unavailable = alluvium._is_unavailable(column, feed) -%}
case
    {%- if reference %}
    when {{ reference }}
        then array({{ name }}, concat({{ name }}, ': ', {{ alluvium._sent_value(column, feed) }}))
    {%- endif %}
    {%- if unavailable %}
    when {{ unavailable }} then array({{ name }})
    {%- endif %}
    else array()
end
{%- endmacro %}


{# Names of the columns that an event may leave out. #}
{% macro _columns_of_unavailable_values(feed) %}
    {%- set names = [] -%}
    {%- for column in feed.columns if alluvium._may_be_unavailable(column, feed) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{#
    The condition that a column's text, or its bytes in base64, begin as a reference; empty for a connector that has
    none.
#}
{% macro _is_reference(column, feed) %}
    {%- set conditions = [] -%}
    {%- for reference in alluvium._unavailable_values_of(feed).references -%}
        {#- Three bytes are four digits: the digits of the last one or two depend on what follows. -#}
        {%- set base64 = "base64('" ~ reference.prefix[:reference.prefix | length // 3 * 3] ~ "')" -%}
        {%- for prefix in [alluvium._string_literal(reference.prefix), base64] -%}
            {%- do conditions.append(
                    "startswith(" ~ alluvium._sent_value(column, feed) ~ ", " ~ prefix ~ ")"
                ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(conditions | join(" or ")) }}
{% endmacro %}


{#
    The list of the columns of an event whose values are not there and cannot be filled in: of a table without a key,
    and of a PostgreSQL table with `replica_identity: full` in an update without a `before` image, which is from before
    the table was altered to that. None where no event lacks any.
#}
{% macro _missing_values(feed) %}
    {%- set rules, conditions = alluvium._unavailable_values_of(feed), [] -%}
    {%- set is_altered =
        feed.shape == "envelope" and rules.placeholder and feed.replica_identity == rules.placeholder.complete_with -%}
    {%- for column in alluvium._listed_to_decode(feed)
        if column.name not in feed.key and alluvium._base_type(column.data_type) in rules.types -%}
        {%- set placeholder = alluvium._is_placeholder(column, feed) -%}
        {%- set condition -%}
            {%- if not feed.key -%}
                {{ alluvium._is_reference(column, feed) }}
                {{- " or op in ('u', 'd') and " ~ placeholder if rules.placeholder.in_before }}
            {%- elif is_altered -%}
                op = 'u' and image_before is null and {{ placeholder }}
            {%- endif -%}
        {%- endset -%}
        {%- do conditions.append([column, condition]) if condition -%}
    {%- endfor -%}
    {{ return(alluvium._columns_where(conditions)) }}
{% endmacro %}


{#
    Empty where no event of the feed has a placeholder: with the replica identity that makes events complete, so that
    data which looks like one is safe. PostgreSQL's `before` image that has the value says that the one after it has,
    too. A NULL of a row is a value that was not sent; an absent field with a declared default has that.
#}
{% macro _is_unavailable(column, feed) -%}
{%- set rule = alluvium._unavailable_values_of(feed).placeholder -%}
{%- set name = alluvium._name_in_record(column) -%}
{%- if feed.shape == "row" -%}
    {{ alluvium._sent_value(column, feed) }} is null
    {{- " and map_contains_key(row_image, " ~ name ~ ")" if "default" in column.cdc }}
{%- elif rule and feed.replica_identity != rule.complete_with -%}
    op in ('c', 'u'{{ ", 'd'" if rule.in_before }}) and {{ alluvium._is_placeholder(column, feed) }}
    {%- if feed.shape == "envelope" and not rule.in_before %}
                and image_before[{{ name }}] is null
    {%- endif -%}
{%- endif -%}
{%- endmacro %}


{% macro _is_placeholder(column, feed) %}
    {{ return(
        alluvium._sent_value(column, feed) ~ " in ("
        ~ alluvium._placeholders(column.data_type, feed.unavailable_value_placeholder) | join(", ") ~ ")"
    ) }}
{% endmacro %}


{#
    How a placeholder looks in the JSON of a row image, by type (captured from Debezium 3.6.3;
    UnchangedToastedPlaceholder in its source): text, JSON and the like as it is; bytes in the form of
    binary_handling_mode; text arrays with it as their only element, bytea arrays with the bytes; integer and date
    arrays with its bytes as numbers; uuid arrays with the name-based UUID of it; hstore with it as key and value. A
    column may be declared as the text of its JSON.
#}
{% macro _placeholders(data_type, placeholder) %}
    {%- set bytes = alluvium._bytes_of_placeholder(placeholder) -%}
    {%- set text = bytes.decode("utf-8") -%}
    {%- set literal = alluvium._string_literal(text) -%}
    {%- set base64 = "base64(unhex('" ~ bytes.hex() ~ "'))" -%}
    {%- set of_bytes = [base64, "translate(" ~ base64 ~ ", '+/', '-_')", "'" ~ bytes.hex() ~ "'"] -%}
    {%- set of_arrays = [
        "to_json(array(" ~ literal ~ "))",
        "to_json(array(" ~ base64 ~ "))",
        "'[" ~ bytes | join(",") ~ "]'",
        "'[\"" ~ alluvium._name_based_uuid(text) ~ "\"]'",
    ] -%}
    {%- set of_maps = ["to_json(map(" ~ literal ~ ", " ~ literal ~ "))"] -%}
    {{ return([literal] + {
        "string": of_bytes[:1] + of_arrays + of_maps, "binary": of_bytes, "array": of_arrays, "map": of_maps
    }.get(alluvium._base_type(data_type), [])) }}
{% endmacro %}


{# java.util.UUID.nameUUIDFromBytes: the MD5 with the version 3 and the variant 2 in their places. #}
{% macro _name_based_uuid(text) %}
    {%- set md5 = local_md5(text) -%}
    {%- set variant = "89ab"[(md5[16] | int(0, 16)) % 4] -%}
    {{ return([md5[:8], md5[8:12], "3" ~ md5[13:16], variant ~ md5[17:20], md5[20:]] | join("-")) }}
{% endmacro %}
