{#
    Columns whose value the source did not send: PostgreSQL leaves out an out-of-line (TOAST) value that an update did
    not touch, and Debezium puts a placeholder in its place. The SQL expression of the array of their names, NULL where there
    is none. Snapshot rows and deletes have no placeholders; with REPLICA IDENTITY FULL there are none at all, so that data
    which looks like one is safe.
#}
{% macro unavailable_columns(feed) %}
    {%- set conditions = {} -%}
    {%- for column in feed.columns if alluvium.may_be_unavailable(column, feed) -%}
        {%- do conditions.update({column.name: alluvium.is_unavailable(column, feed)}) -%}
    {%- endfor -%}
    {%- if not conditions -%}
        {{ return("cast(null as array<string>)") }}
    {%- endif -%}
    {#- A delete's missing values are taken for none in any case. -#}
    {%- set may_lack = alluvium.kind_of_record(feed) ~ " = 'change'" ~ ("" if feed.shape == "row" else " and op in ('c', 'u')") -%}
    {{ return("if(" ~ may_lack ~ ", " ~ alluvium.array_or_null(alluvium.names_where(conditions)) ~ ", null)") }}
{% endmacro %}


{# Whether any event of a feed may lack a value that its source has; without a key there are whole images or inserts alone. #}
{% macro has_unavailable_values(feed) %}
    {{ return(
        feed.key | length > 0
        and feed.connector in ["postgresql", "oracle"]
        and feed.replica_identity != "full"
    ) }}
{% endmacro %}


{#
    Names of the columns that an event may leave out: by their types what PostgreSQL may store out of line and Oracle's LOBs, or
    the columns of rows whose NULLs are declared to change nothing. A column of the key never is.
#}
{% macro columns_of_unavailable_values(feed) %}
    {%- set names = [] -%}
    {%- for column in feed.columns if alluvium.may_be_unavailable(column, feed) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro may_be_unavailable(column, feed) %}
    {%- if feed.shape == "row" -%}
        {{ return(column.name in (feed.ignored_null_columns or [])) }}
    {%- endif -%}
    {{ return(
        alluvium.has_unavailable_values(feed)
        and column.name not in feed.key
        and alluvium.base_type(column.data_type) in (["string", "binary"] if feed.connector == "oracle" else alluvium.types_out_of_line())
    ) }}
{% endmacro %}


{# What PostgreSQL may store out of line. #}
{% macro types_out_of_line() %}
    {{ return(["string", "binary", "array", "map", "struct", "decimal"]) }}
{% endmacro %}


{#
    The names of columns with a placeholder in an update without an image before, of a feed with `replica_identity: full`: it is from before the
    table was altered to that.
#}
{% macro placeholders_of_altered_table(feed) %}
    {%- set conditions = {} -%}
    {%- for column in feed.columns if column.name not in feed.key and alluvium.base_type(column.data_type) in alluvium.types_out_of_line() -%}
        {%- do conditions.update({column.name: alluvium.is_placeholder(column, feed)}) -%}
    {%- endfor -%}
    {{ return(alluvium.names_where(conditions)) }}
{% endmacro %}


{#
    PostgreSQL's image before the update that has the value says that the one after it has, too; Oracle's never has it.
    A NULL of a row is a value that was not sent; an absent field with a declared default has that.
#}
{% macro is_unavailable(column, feed) -%}
{%- if feed.shape == "row" -%}
    row_image[{{ alluvium.string_literal(column.name) }}] is null{{ " and map_contains_key(row_image, " ~ alluvium.string_literal(column.name) ~ ")" if "default" in column.cdc }}
{%- else -%}
    {{ alluvium.is_placeholder(column, feed) }}
    {%- if feed.shape == "envelope" and feed.connector == "postgresql" %}
                and image_before[{{ alluvium.string_literal(column.name) }}] is null
    {%- endif -%}
{%- endif -%}
{%- endmacro %}


{% macro is_placeholder(column, feed) %}
    {{ return(
        "row_image[" ~ alluvium.string_literal(column.name) ~ "] in ("
        ~ alluvium.placeholders(column.data_type, feed.unavailable_value_placeholder) | join(", ") ~ ")"
    ) }}
{% endmacro %}


{#
    How a placeholder looks in the JSON of a row image, by type (captured from Debezium 3.6.3; UnchangedToastedPlaceholder
    in its source): text, JSON and the like as it is; bytes in the form of binary_handling_mode; text arrays with it as
    their only element, bytea arrays with the bytes; integer and date arrays with its bytes as numbers; uuid arrays with the
    name-based UUID of it; hstore with it as key and value. A column may be declared as the text of its JSON.
#}
{% macro placeholders(data_type, placeholder) %}
    {%- set bytes = alluvium.bytes_of_placeholder(placeholder) -%}
    {%- set text = bytes.decode("utf-8") -%}
    {%- set literal = alluvium.string_literal(text) -%}
    {%- set base64 = "base64(unhex('" ~ bytes.hex() ~ "'))" -%}
    {%- set of_bytes = [base64, "translate(" ~ base64 ~ ", '+/', '-_')", "'" ~ bytes.hex() ~ "'"] -%}
    {%- set of_arrays = [
        "to_json(array(" ~ literal ~ "))",
        "to_json(array(" ~ base64 ~ "))",
        "'[" ~ bytes | join(",") ~ "]'",
        "'[\"" ~ alluvium.name_based_uuid(text) ~ "\"]'",
    ] -%}
    {%- set of_maps = ["to_json(map(" ~ literal ~ ", " ~ literal ~ "))"] -%}
    {{ return([literal] + {
        "string": of_bytes[:1] + of_arrays + of_maps, "binary": of_bytes, "array": of_arrays, "map": of_maps
    }.get(alluvium.base_type(data_type), [])) }}
{% endmacro %}


{% macro bytes_of_placeholder(placeholder) %}
    {{ return("".encode().fromhex(placeholder[4:]) if placeholder.startswith("hex:") else placeholder.encode("utf-8")) }}
{% endmacro %}


{# java.util.UUID.nameUUIDFromBytes: the MD5 with the version 3 and the variant 2 in their places. #}
{% macro name_based_uuid(text) %}
    {%- set md5 = local_md5(text) -%}
    {%- set variant = "89ab"[(md5[16] | int(0, 16)) % 4] -%}
    {{ return([md5[:8], md5[8:12], "3" ~ md5[13:16], variant ~ md5[17:20], md5[20:]] | join("-")) }}
{% endmacro %}
