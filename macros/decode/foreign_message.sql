{#
    The verdict on a line, or that it is a message of another tool (`_message_formats`), with the format's name. Looked
    at are lines that are rejected anyway, and rows with fields that nobody has declared, so it costs nothing on the
    others. Where all fields of such messages are declared as columns, a table of messages is meant.
#}
{% macro _foreign_message(feed) -%}
    {%- set forms = alluvium._forms_of_messages() -%}
    case
        when verdict rlike '^(invalid_utf8|unreadable_file|malformed_json)' then verdict
        {#- Fields of an envelope's row are none of the message's. #}
        when verdict is not null
            {%- if feed.shape != "envelope" %}
            or arrays_overlap(unknown_columns, {{ alluvium._fields_of_forms(forms) }})
            {%- endif %}
            then coalesce(
                concat('foreign_message: ', {{ alluvium._format_of_message(feed, forms) | indent(16) }}), verdict
            )
    end
{%- endmacro %}


{#
    The first format with a form that holds, or NULL. Lambdas are nested as little as possible: each level makes Spark
    (3.5.7) resolve the whole statement about four times more.
#}
{% macro _format_of_message(feed, forms) -%}
{%- set record = "get_json_object(value, '$.value')" if feed.store_envelope else "value" -%}
{%- set record =
    "if(size(array_except(json_object_keys(" ~ record ~ "), array('schema', 'payload'))) = 0, get_json_object(" ~ record
    ~ ", '$.payload'), " ~ record ~ ")" -%}
{#- The fields of a row are there already: most records are of no form by these alone. -#}
{%- set row = "from_json(" ~ record ~ ", 'map<string,string>')" if feed.shape == "envelope" else "row_image" -%}
{%- set marks = "array<struct<path:string,pattern:string>>" -%}
coalesce(
    transform(
        array(map_keys({{ row }})),
        names -> filter(
            from_json(
                {{ alluvium._string_literal(tojson(forms | selectattr("has") | list)) }},
                'array<struct<format:string,has:array<string>,may_have:array<string>,marks:{{ marks }}>>'
            ),
            form -> size(array_except(form.has, names)) = 0
                and (form.may_have is null or size(array_except(names, concat(form.has, form.may_have))) = 0)
                and forall(form.marks, mark -> get_json_object({{ record }}, mark.path) rlike mark.pattern)
        )[0].format
    )[0]
    {%- for form in forms if not form.has -%}
    ,
    {%- set objects = "filter(map_values(" ~ row ~ "), item -> startswith(item, '{'))" %}
    if(
        size({{ objects }}) > 0
            and forall({{ objects }}, item -> item rlike {{ alluvium._string_literal(form.marks[0].pattern) }}),
        {{ alluvium._string_literal(form.format) }},
        null
    )
    {%- endfor %}
)
{%- endmacro %}


{#
    As SQL takes them: the forms of all formats in one list, with paths of JSONPath; of one that is told by its objects,
    `has` is empty.
#}
{% macro _forms_of_messages() %}
    {%- set forms = [] -%}
    {%- for format in alluvium._message_formats() -%}
        {%- for form in format.forms -%}
            {%- set has, marks = (form.has or []) | list, [] -%}
            {%- for path, pattern in (form.matches or {}).items() -%}
                {%- do has.append(path.split(".")[0]) if path != "*" -%}
                {%- do marks.append(
                    {"path": path if path == "*" else "$['" ~ path.split(".") | join("']['") ~ "']", "pattern": pattern}
                ) -%}
            {%- endfor -%}
            {%- do forms.append(
                {"format": format.name, "has": has | unique | list, "may_have": form.get("may_have"), "marks": marks}
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(forms) }}
{% endmacro %}


{% macro _fields_of_forms(forms) %}
    {{ return(alluvium._literal_array(forms | map(attribute="has") | sum(start=[]) | unique | list)) }}
{% endmacro %}
