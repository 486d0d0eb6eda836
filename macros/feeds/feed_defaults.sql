{#
    What a feed is, said once in its source's YAML (`meta.cdc` of the source and of the table), with the
    defaults of Debezium filled in and every value checked.
#}
{% macro _feed_defaults() %}
    {{ return({
        "connector": none,
        "shape": none,
        "reads_envelopes": false,
        "layout": "confluent",
        "store_envelope": false,
        "key": none,
        "keys": none,
        "order_by": none,
        "sequence_by": none,
        "apply_as_deletes": none,
        "apply_as_truncates": none,
        "ignore_rows": none,
        "full_dumps": none,
        "ignore_null_updates": false,
        "ignore_null_updates_column_list": none,
        "ignore_null_updates_except_column_list": none,
        "column_list": none,
        "except_column_list": none,
        "track_history_column_list": none,
        "track_history_except_column_list": none,
        "time_precision_mode": "adaptive",
        "decimal_handling_mode": "precise",
        "decimal_format": "base64",
        "binary_handling_mode": "bytes",
        "bigint_unsigned_handling_mode": "long",
        "add_fields_prefix": "__",
        "unknown_columns": "quarantine",
        "snapshots": "complete",
        "replica_identity": "undeclared",
        "data_collection": none,
        "unavailable_value_placeholder": "__debezium_unavailable_value",
        "quarantine": {"fail_above": "5 %"},
        "unresolved": {},
        "on_gap": "warn",
        "on_overlap": "warn",
        "on_key_conflict": "warn",
    }) }}
{% endmacro %}


{% macro _feed_allowed_values() %}
    {{ return({
        "connector": alluvium._connectors().keys() | list + ["jdbc", "table"],
        "shape": ["envelope", "flattened", "row"],
        "reads_envelopes": [true, false],
        "store_envelope": [true, false],
        "ignore_null_updates": [true, false],
        "time_precision_mode": [
            "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
        ],
        "decimal_handling_mode": ["precise", "double", "string"],
        "decimal_format": ["base64", "numeric"],
        "binary_handling_mode": ["bytes", "base64", "base64-url-safe", "hex"],
        "bigint_unsigned_handling_mode": ["long", "precise"],
        "unknown_columns": ["quarantine", "ignore"],
        "snapshots": ["complete", "partial"],
        "replica_identity": ["undeclared", "default", "full", "index", "nothing"],
        "on_gap": ["warn", "fail", "ignore"],
        "on_overlap": ["warn", "fail", "ignore"],
        "on_key_conflict": ["warn", "fail", "ignore"],
    }) }}
{% endmacro %}


{# What a connector's files have where nothing else is declared. #}
{% macro _connector_defaults(connector) %}
    {{ return({
        "jdbc": {"time_precision_mode": "connect"},
        "table": {"time_precision_mode": "isostring", "decimal_format": "numeric"},
        "mongodb": {"decimal_handling_mode": "string"},
    }.get(connector, {})) }}
{% endmacro %}


{#
    What a default of a type may be: a regular expression and words; nothing matches for a type that text is not cast
    to.
#}
{% macro _default_rule(data_type) %}
    {%- set day = "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])" -%}
    {%- set time = day ~ "[ T]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?" -%}
    {%- set bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64} -%}
    {%- if data_type in bits -%}
        {{ return({"pattern": "[+-]?\\d+", "said": "a whole number", "bits": bits[data_type]}) }}
    {%- elif data_type.startswith("decimal") -%}
        {%- set precision, scale = modules.re.findall("\\d+", data_type) | map("int") -%}
        {%- set whole = "[+-]?0*\\d{0," ~ (precision - scale) ~ "}" -%}
        {{ return(
            {
                "pattern": "(?=.*\\d)" ~ whole ~ "(\\.\\d{0," ~ scale ~ "}0*)?",
                "said": "a number that " ~ data_type ~ " holds"
            }
        ) }}
    {%- endif -%}
    {%- set rules = {
        "string": [".*", "a text, quoted"],
        "boolean": ["(?i)true|false", "true or false"],
        "float": ["[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?", "a number"],
        "date": [day, "a day such as 2024-05-31"],
        "timestamp": [time ~ "(Z|[+-]\\d{2}:\\d{2})", "a time with its zone such as '2024-05-31 08:00:00Z', quoted"],
        "timestamp_ntz": [time, "a time without a zone such as '2024-05-31 08:00:00', quoted"],
    } -%}
    {%- set pattern, said =
        rules.get(
            "float" if data_type == "double" else data_type, ["(?!)", "none, for a column of type " ~ data_type]
        ) -%}
    {{ return({"pattern": pattern, "said": said}) }}
{% endmacro %}
