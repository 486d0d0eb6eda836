{#
    What a feed is, said once in its source's YAML (`meta.cdc` of the source and of the table), with the
    defaults of Debezium filled in and every value checked.
#}
{% macro feed_defaults() %}
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
        "stored_as_scd_type": 1,
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


{% macro feed_allowed_values() %}
    {{ return({
        "connector": alluvium.connectors().keys() | list + ["jdbc", "table"],
        "shape": ["envelope", "flattened", "row"],
        "reads_envelopes": [true, false],
        "store_envelope": [true, false],
        "ignore_null_updates": [true, false],
        "stored_as_scd_type": [1, 2, "1", "2"],
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
{% macro connector_defaults(connector) %}
    {{ return({
        "jdbc": {"time_precision_mode": "connect"},
        "table": {"time_precision_mode": "isostring", "decimal_format": "numeric"},
        "mongodb": {"decimal_handling_mode": "string"},
    }.get(connector, {})) }}
{% endmacro %}


{% macro feed_of_source(caller_name, node) %}
    {%- set feed = alluvium.feed_defaults() -%}
    {%- set options = {} -%}
    {%- set subject = alluvium.subject_of_source(caller_name, node) -%}
    {%- for meta in [node.source_meta or {}, node.meta or {}, (node.config or {}).get("meta") or {}] -%}
        {%- for option, value in (meta.get("cdc") or {}).items() -%}
            {%- if option not in feed -%}
                {% do alluvium.raise_invalid(subject, "meta.cdc option", option, feed.keys() | list) %}
            {%- endif -%}
            {%- do options.update({option: value}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {#- What scaffold leaves open. -#}
    {%- if options.get("order_by", "") is none -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.order_by", none, "offset, timestamp or position; of rows offset or columns" ~ alluvium.place_of_answer(node)) %}
    {%- endif -%}
    {%- do feed.update(alluvium.connector_defaults(options.get("connector"))) -%}
    {%- do feed.update(options) -%}
    {%- for option, allowed in alluvium.feed_allowed_values().items() -%}
        {% do alluvium.require_one_of(subject, "meta.cdc." ~ option, feed[option], allowed) %}
    {%- endfor -%}
    {%- for thresholds in ["quarantine", "unresolved"] -%}
        {% do alluvium.require_threshold(subject, "meta.cdc." ~ thresholds, feed[thresholds]) %}
    {%- endfor -%}
    {%- do alluvium.require_placeholder(subject, feed.unavailable_value_placeholder) -%}
    {#- Staging passes over it: an external table of before would be read on. -#}
    {%- if not (node.external or {}).location -%}
        {% do alluvium.raise_invalid(subject, "external.location", none, "the folder of the files") %}
    {%- endif -%}
    {%- do feed.update({
        "name": node.source_name ~ "." ~ node.name,
        "source_name": node.source_name,
        "entity": node.name,
        "location": node.external.location,
        "format": alluvium.external_format(subject, node.external),
        "columns": alluvium.feed_columns(subject, node),
        "relation": api.Relation.create(database=node.database, schema=node.schema, identifier=node.identifier),
    }) -%}
    {%- do alluvium.apply_clauses(subject, feed) -%}
    {%- do feed.update({"unavailable_values": alluvium.unavailable_values_of(feed)}) -%}
    {%- do alluvium.require_layout(subject, feed) -%}
    {%- do alluvium.require_distinct_names(subject, feed) -%}
    {%- do alluvium.require_key(subject, feed, alluvium.place_of_answer(node)) -%}
    {#- Without a prefix the fields that add.fields adds cannot be told from columns. -#}
    {%- if feed.shape == "flattened" and not feed.add_fields_prefix -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.add_fields_prefix", feed.add_fields_prefix, "a text such as `__`") %}
    {%- endif -%}
    {%- set kind = "connector mongodb" if feed.connector == "mongodb" else "shape " ~ feed.shape -%}
    {%- do alluvium.require_one_of(subject, "meta.cdc.reads_envelopes of " ~ kind, feed.reads_envelopes, [false]) if kind != "shape flattened" -%}
    {{ return(feed) }}
{% endmacro %}


{# Debezium (3.6) takes any bytes. What it shows of those that are no text is another one in a column of texts than in an array of UUIDs. #}
{% macro require_placeholder(subject, placeholder) %}
    {%- set is_text = placeholder is string and placeholder | length > 0 -%}
    {%- if is_text and placeholder.startswith("hex:") -%}
        {%- set is_hex = modules.re.fullmatch("hex:(?:[0-9a-fA-F]{2})+", placeholder) is not none -%}
        {%- set bytes = alluvium.bytes_of_placeholder(placeholder) if is_hex -%}
        {%- set is_text = is_hex and bytes.decode("utf-8", "ignore").encode("utf-8") == bytes -%}
    {%- endif -%}
    {%- if not is_text -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.unavailable_value_placeholder", placeholder, "a text, or `hex:` and the bytes of one in UTF-8, two digits each") %}
    {%- endif -%}
{% endmacro %}


{# How an error names a source. #}
{% macro subject_of_source(caller_name, node) %}
    {{ return(caller_name ~ ": source " ~ node.source_name ~ "." ~ node.name) }}
{% endmacro %}


{# The two answers that `alluvium scaffold` leaves out where the files do not give them. #}
{% macro place_of_answer(node) %}
    {{ return(", in " ~ node.original_file_path ~ ", where a comment `# Answer before the first build` says what the files do not tell" if node.original_file_path else "") }}
{% endmacro %}


{% macro require_threshold(subject, argument, thresholds) %}
    {%- for option, limit in thresholds.items() -%}
        {% do alluvium.require_one_of(subject, argument ~ " option", option, ["fail_above"]) %}
        {%- set takes_share = argument == "meta.cdc.quarantine" -%}
        {%- set share = alluvium.share_of_threshold(limit) if takes_share else none -%}
        {%- if (limit is not integer or limit < 0) and (share is none or share > 100) -%}
            {% do alluvium.raise_invalid(
                subject, argument ~ ".fail_above", limit, "a number of rows, such as 0" ~ (", or a share of the latest batch, such as \"5 %\"" if takes_share else "")
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# `5 %` as 5; none for a number of rows. #}
{% macro share_of_threshold(limit) %}
    {%- set found = modules.re.fullmatch("(\\d+([.]\\d+)?) ?%", limit | string) -%}
    {{ return(found.group(1) | float if found else none) }}
{% endmacro %}


{% macro feed_columns(subject, node) %}
    {%- set columns = [] -%}
    {%- for column in (node.columns or {}).values() -%}
        {%- if not column.data_type -%}
            {% do alluvium.raise_invalid(subject, "data_type of column " ~ column.name, none, "a Spark SQL type" ~ alluvium.place_of_answer(node)) %}
        {%- endif -%}
        {%- if alluvium.is_own_column(column.name) -%}
            {% do alluvium.raise_invalid(subject, "name of a column", column.name, "a name that is not one of this project's, of Spark's or of Hudi's own: `_cdc_...`, `_is_deleted`, `_deleted_at`, `_valid_from`, `_valid_to`, `_is_current`, `_metadata`, `_hoodie_commit_time`, `_hoodie_commit_seqno`, `_hoodie_record_key`, `_hoodie_partition_path`, `_hoodie_file_name`") %}
        {%- endif -%}
        {%- set cdc = (column.meta or {}).get("cdc") or ((column.config or {}).get("meta") or {}).get("cdc") or {} -%}
        {%- for option in cdc if option not in ["semantic_type", "nullable", "default", "unsigned"] -%}
            {% do alluvium.raise_invalid(
                subject, "meta.cdc option of column " ~ column.name, option, ["semantic_type", "nullable", "default", "unsigned"]
            ) %}
        {%- endfor -%}
        {%- set data_type = alluvium.normal_type(subject ~ ", column " ~ column.name, column.data_type) -%}
        {%- if cdc.unsigned and not data_type.startswith("decimal") -%}
            {% do alluvium.raise_invalid(subject, "data_type of the unsigned column " ~ column.name, data_type, "decimal(20,0)") %}
        {%- endif -%}
        {%- if cdc.semantic_type -%}
            {% do alluvium.require_one_of(
                subject, "semantic_type of column " ~ column.name ~ " (" ~ data_type ~ ")", cdc.semantic_type, alluvium.semantic_types_for(data_type)
            ) %}
        {%- endif -%}
        {%- if "default" in cdc -%}
            {% do alluvium.require_default(subject ~ ", column " ~ column.name, data_type, cdc.default) %}
        {%- endif -%}
        {%- do columns.append({"name": column.name, "data_type": data_type, "cdc": cdc}) -%}
    {%- endfor -%}
    {%- if not columns -%}
        {% do alluvium.raise_invalid(subject, "columns", none, "the table's columns with their data_type") %}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{#
    A default is cast from its text, and a cast that fails is NULL, or rounds, without a word: a decimal in base64 and a date as a number of
    days are what a schema says, not what this option takes. A time without a zone would be shifted by the session's.
#}
{% macro require_default(subject, data_type, default) %}
    {%- set rule = alluvium.default_rule(data_type) -%}
    {%- set is_quoted = default is string or data_type != "string" or default is integer and default is not boolean -%}
    {%- if default is none or not is_quoted or not modules.re.fullmatch(rule.pattern, default | string, modules.re.DOTALL) -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.default", default, rule.said) %}
    {%- endif -%}
    {%- if "bits" in rule and not -2 ** (rule.bits - 1) <= default | int < 2 ** (rule.bits - 1) -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.default", default, "a number that " ~ data_type ~ " holds") %}
    {%- endif -%}
{% endmacro %}


{# What a default of a type may be: a regular expression and words; nothing matches for a type that text is not cast to. #}
{% macro default_rule(data_type) %}
    {%- set day = "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])" -%}
    {%- set time = day ~ "[ T]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?" -%}
    {%- set bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64} -%}
    {%- if data_type in bits -%}
        {{ return({"pattern": "[+-]?\\d+", "said": "a whole number", "bits": bits[data_type]}) }}
    {%- elif data_type.startswith("decimal") -%}
        {%- set precision, scale = modules.re.findall("\\d+", data_type) | map("int") -%}
        {%- set whole = "[+-]?0*\\d{0," ~ (precision - scale) ~ "}" -%}
        {{ return({"pattern": "(?=.*\\d)" ~ whole ~ "(\\.\\d{0," ~ scale ~ "}0*)?", "said": "a number that " ~ data_type ~ " holds"}) }}
    {%- endif -%}
    {%- set rules = {
        "string": [".*", "a text, quoted"],
        "boolean": ["(?i)true|false", "true or false"],
        "float": ["[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?", "a number"],
        "date": [day, "a day such as 2024-05-31"],
        "timestamp": [time ~ "(Z|[+-]\\d{2}:\\d{2})", "a time with its zone such as '2024-05-31 08:00:00Z', quoted"],
        "timestamp_ntz": [time, "a time without a zone such as '2024-05-31 08:00:00', quoted"],
    } -%}
    {%- set pattern, said = rules.get("float" if data_type == "double" else data_type, ["(?!)", "none, for a column of type " ~ data_type]) -%}
    {{ return({"pattern": pattern, "said": said}) }}
{% endmacro %}


{# Types are compared as text: lower case, no blanks, one name each. The names of a struct's fields are the source's and stay. #}
{% macro normal_type(subject, data_type) %}
    {%- if "struct" in data_type | lower -%}
        {#- With the names of its fields as they are, and its words as the macros look for them. -#}
        {%- set given = namespace(type=data_type) -%}
        {%- for word in ["struct", "array", "map"] -%}
            {%- set given.type = modules.re.sub("(?i)(?:(<)\\s+)?\\b" ~ word ~ "\\s*<", "\\1" ~ word ~ "<", given.type) -%}
        {%- endfor -%}
        {{ return(given.type) }}
    {%- endif -%}
    {%- set known = [
        "string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp",
        "timestamp_ntz", "binary", "array", "map",
    ] -%}
    {%- set aliases = {"bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint",
        "real": "float", "numeric": "decimal", "dec": "decimal", "timestamp_ltz": "timestamp"} -%}
    {%- set normal = [] -%}
    {%- for word in modules.re.split("(\\W+)", data_type | lower | replace(" ", "")) -%}
        {%- set word = aliases.get(word, word) -%}
        {%- if word[:1].isalpha() and word not in known -%}
            {% do alluvium.raise_invalid(subject, "data_type", data_type, known + ["struct"]) %}
        {%- endif -%}
        {%- do normal.append(word) -%}
    {%- endfor -%}
    {#- As Spark completes them. -#}
    {%- set whole = modules.re.sub("decimal(?!\\()", "decimal(10,0)", normal | join) -%}
    {{ return(modules.re.sub("decimal\\((\\d+)\\)", "decimal(\\1,0)", whole)) }}
{% endmacro %}


{#
    Delta holds no two columns whose names differ in case only, and Spark would take one for the other. dbt-spark (1.11) takes a column that begins with `#` for the end
    of a table's columns: it and all after it would be left out of what is written. SQL is indented, and Spark SQL has no escapes inside of a quoted name.
#}
{% macro require_distinct_names(subject, feed) %}
    {%- set names = {} -%}
    {%- for column in feed.columns -%}
        {%- if column.name | lower in names -%}
            {% do alluvium.raise_invalid(
                subject, "name of a column", column.name,
                "names that differ in more than case from the others; leave this one or " ~ names[column.name | lower] ~ " out with except_column_list",
            ) %}
        {%- endif -%}
        {%- do names.update({column.name | lower: column.name}) -%}
        {%- if column.name.startswith("#") or alluvium.line_ends(column.name ~ column.data_type) -%}
            {% do alluvium.raise_invalid(
                subject, "name of a column" ~ (", or of a field in it," if "struct" in column.data_type), column.name,
                "a name that does not begin with `#` and has no character that ends a line; leave this one out with except_column_list",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{% macro require_key(subject, feed, place="") %}
    {%- set names = feed.columns | map(attribute="name") | list -%}
    {%- if feed.key is none or feed.key is string -%}
        {% do alluvium.raise_invalid(subject, "meta.cdc.key", feed.key, "a list of columns ([] for a table without a key)" ~ place) %}
    {%- endif -%}
    {%- for column in feed.key -%}
        {% do alluvium.require_one_of(subject, "meta.cdc.key", column, names) %}
    {%- endfor -%}
{% endmacro %}


{#
    The feed behind a relation: of the source itself, or of the source that a model's change log is read from.
    `graph` is filled only at execution; a caller_name returns its placeholder before it asks.
#}
{% macro feed_of_relation(caller_name, relation) %}
    {%- set node = alluvium.node_of_relation(relation) -%}
    {%- if not node -%}
        {% do alluvium.raise_invalid(caller_name, "relation", relation | string, "a source with meta.cdc, or a model built from one") %}
    {%- endif -%}
    {{ return(alluvium.feed_of_source(caller_name, node) if node.resource_type == "source" else alluvium.feed_of_node(caller_name, node)) }}
{% endmacro %}


{% macro feed_of_node(caller_name, node) %}
    {%- for parent in node.depends_on.nodes -%}
        {%- if parent in graph.sources and graph.sources[parent].external -%}
            {{ return(alluvium.feed_of_source(caller_name, graph.sources[parent])) }}
        {%- endif -%}
    {%- endfor -%}
    {%- for parent in node.depends_on.nodes if parent in graph.nodes -%}
        {{ return(alluvium.feed_of_node(caller_name, graph.nodes[parent])) }}
    {%- endfor -%}
    {% do alluvium.raise_invalid(caller_name, "model " ~ node.name, "not built from a source", "a model that reads a source with meta.cdc") %}
{% endmacro %}


{# The node of a source or a model; none where none is of that name. #}
{% macro node_of_relation(relation) %}
    {%- if alluvium.is_unit_test() -%}
        {{ return(alluvium.node_of_input(relation)) }}
    {%- endif -%}
    {%- for node in graph.sources.values() if node.schema == relation.schema and node.identifier == relation.identifier -%}
        {{ return(node) }}
    {%- endfor -%}
    {%- for node in graph.nodes.values() if node.resource_type == "model" and node.schema == relation.schema and node.alias == relation.identifier -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# dbt (1.11) gives the rows of a unit test as a CTE that is named after the parent of the tested model. #}
{% macro node_of_input(relation) %}
    {%- for id in alluvium.own_model().depends_on.nodes -%}
        {%- set node = graph.sources.get(id) or graph.nodes[id] -%}
        {%- set name = node.source_name ~ "__" ~ node.name if node.resource_type == "source" else node.name -%}
        {%- if relation.identifier == api.Relation.add_ephemeral_prefix(name) -%}
            {{ return(node) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The node of the model, in a unit test that of the tested one: dbt (1.11) renders the test under its own name, parents and settings. #}
{% macro own_model() %}
    {%- if not alluvium.is_unit_test() -%}
        {{ return(model) }}
    {%- endif -%}
    {%- if not graph -%}
        {{ exceptions.raise_compiler_error(
            "unit test " ~ model.name ~ ": dbt gives unit tests an empty graph, so that no macro finds the source's meta.cdc. The Python package of Alluvium has the dbt plugin that fills it: "
            ~ "install it where dbt runs"
        ) }}
    {%- endif -%}
    {{ return(graph.nodes[model.tested_node_unique_id]) }}
{% endmacro %}


{# The settings of own_model(). #}
{% macro own_config() %}
    {{ return(alluvium.own_model().config if alluvium.is_unit_test() else config) }}
{% endmacro %}


{# Comma-separated column names, quoted, optionally with a prefix such as `target.`. #}
{% macro column_list(names, prefix="") -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ alluvium.quoted_identifier(name)) -%}
    {%- endfor -%}
    {{ return(quoted) }}
{%- endmacro %}
