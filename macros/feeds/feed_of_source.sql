{% macro _feed_of_source(caller_name, node) %}
    {%- set feed = alluvium._feed_defaults() -%}
    {%- set options = {} -%}
    {%- set subject = alluvium._subject_of_source(caller_name, node) -%}
    {%- for meta in [node.source_meta or {}, node.meta or {}, (node.config or {}).get("meta") or {}] -%}
        {%- for option, value in (meta.get("cdc") or {}).items() -%}
            {%- if option == "stored_as_scd_type" -%}
                {%- do alluvium._warn_of_scd_type(node) -%}
            {%- elif option not in feed -%}
                {% do alluvium._raise_invalid(subject, "meta.cdc option", option, feed.keys() | list) %}
            {%- else -%}
                {%- do options.update({option: value}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {#- What scaffold leaves open. -#}
    {%- if options.get("order_by", "") is none -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.order_by", none,
            "offset, timestamp or position; of rows offset or columns" ~ alluvium._place_of_answer(node)
        ) %}
    {%- endif -%}
    {%- do feed.update(alluvium._connector_defaults(options.get("connector"))) -%}
    {%- do feed.update(options) -%}
    {%- for option, allowed in alluvium._feed_allowed_values().items() -%}
        {% do alluvium._require_one_of(subject, "meta.cdc." ~ option, feed[option], allowed) %}
    {%- endfor -%}
    {%- for thresholds in ["quarantine", "unresolved"] -%}
        {% do alluvium._require_threshold(subject, "meta.cdc." ~ thresholds, feed[thresholds]) %}
    {%- endfor -%}
    {%- do alluvium._require_placeholder(subject, feed.unavailable_value_placeholder) -%}
    {#- Staging passes over it: an external table of before would be read on. -#}
    {%- if not (node.external or {}).location -%}
        {% do alluvium._raise_invalid(subject, "external.location", none, "the folder of the files") %}
    {%- endif -%}
    {%- do feed.update({
        "name": node.source_name ~ "." ~ node.name,
        "source_name": node.source_name,
        "entity": node.name,
        "location": node.external.location,
        "format": alluvium._external_format(subject, node.external),
        "columns": alluvium._feed_columns(subject, node),
        "relation": api.Relation.create(database=node.database, schema=node.schema, identifier=node.identifier),
    }) -%}
    {%- do alluvium._apply_clauses(subject, feed) -%}
    {%- do feed.update({"unavailable_values": alluvium._unavailable_values_of(feed)}) -%}
    {%- do alluvium._require_layout(subject, feed) -%}
    {%- do alluvium._require_distinct_names(subject, feed) -%}
    {%- do alluvium._require_key(subject, feed, alluvium._place_of_answer(node)) -%}
    {#- Without a prefix the fields that add.fields adds cannot be told from columns. -#}
    {%- if feed.shape == "flattened" and not feed.add_fields_prefix -%}
        {% do alluvium._raise_invalid(
                subject, "meta.cdc.add_fields_prefix", feed.add_fields_prefix, "a text such as `__`"
            ) %}
    {%- endif -%}
    {%- set kind = "connector mongodb" if feed.connector == "mongodb" else "shape " ~ feed.shape -%}
    {%- do alluvium._require_one_of(subject, "meta.cdc.reads_envelopes of " ~ kind, feed.reads_envelopes, [false])
        if kind != "shape flattened" -%}
    {{ return(feed) }}
{% endmacro %}


{# It changed nothing in 0.1; goes in 0.3. #}
{% macro _warn_of_scd_type(node) %}
    {%- set message = node.source_name ~ "." ~ node.name ~ ": meta.cdc.stored_as_scd_type has no effect. "
        ~ "Delete it; a history model gives the table its history" -%}
    {%- do alluvium._warn(message) if message not in alluvium._run_state().get("warnings", []) -%}
{% endmacro %}


{#
    Debezium (3.6) takes any bytes. What it shows of those that are no text is another one in a column of texts than in
    an array of UUIDs.
#}
{% macro _require_placeholder(subject, placeholder) %}
    {%- set is_text = placeholder is string and placeholder | length > 0 -%}
    {%- if is_text and placeholder.startswith("hex:") -%}
        {%- set is_hex = modules.re.fullmatch("hex:(?:[0-9a-fA-F]{2})+", placeholder) is not none -%}
        {%- set bytes = alluvium._bytes_of_placeholder(placeholder) if is_hex -%}
        {%- set is_text = is_hex and bytes.decode("utf-8", "ignore").encode("utf-8") == bytes -%}
    {%- endif -%}
    {%- if not is_text -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.unavailable_value_placeholder", placeholder,
            "a text, or `hex:` and the bytes of one in UTF-8, two digits each"
        ) %}
    {%- endif -%}
{% endmacro %}


{# How an error names a source. #}
{% macro _subject_of_source(caller_name, node) %}
    {{ return(caller_name ~ ": source " ~ node.source_name ~ "." ~ node.name) }}
{% endmacro %}


{# The two answers that `alluvium scaffold` leaves out where the files do not give them. #}
{% macro _place_of_answer(node) %}
    {{ return(
        ", in " ~ node.original_file_path
        ~ ", where a comment `# Answer before the first build` says what the files do not tell"
        if node.original_file_path else ""
    ) }}
{% endmacro %}


{% macro _require_threshold(subject, argument, thresholds) %}
    {%- for option, limit in thresholds.items() -%}
        {% do alluvium._require_one_of(subject, argument ~ " option", option, ["fail_above"]) %}
        {%- set takes_share = argument == "meta.cdc.quarantine" -%}
        {%- set share = alluvium._share_of_threshold(limit) if takes_share else none -%}
        {%- if (limit is not integer or limit < 0) and (share is none or share > 100) -%}
            {% do alluvium._raise_invalid(
                subject, argument ~ ".fail_above", limit,
                "a number of rows, such as 0"
                ~ (", or a share of the latest batch, such as \"5 %\"" if takes_share else "")
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# `5 %` as 5; none for a number of rows. #}
{% macro _share_of_threshold(limit) %}
    {%- set found = modules.re.fullmatch("(\\d+([.]\\d+)?) ?%", limit | string) -%}
    {{ return(found.group(1) | float if found else none) }}
{% endmacro %}


{% macro _feed_columns(subject, node) %}
    {%- set columns = [] -%}
    {%- for column in (node.columns or {}).values() -%}
        {%- if not column.data_type -%}
            {% do alluvium._raise_invalid(
                subject, "data_type of column " ~ column.name, none,
                "a Spark SQL type" ~ alluvium._place_of_answer(node)
            ) %}
        {%- endif -%}
        {%- if alluvium._is_own_column(column.name) -%}
            {% do alluvium._raise_invalid(
                subject, "name of a column", column.name,
                "a name that is not one of this project's, of Spark's or of Hudi's own: `_cdc_...`, `_is_deleted`, "
                "`_deleted_at`, `_valid_from`, `_valid_to`, `_is_current`, `_metadata`, `_hoodie_commit_time`, "
                "`_hoodie_commit_seqno`, `_hoodie_record_key`, `_hoodie_partition_path`, `_hoodie_file_name`"
            ) %}
        {%- endif -%}
        {%- set cdc = (column.meta or {}).get("cdc") or ((column.config or {}).get("meta") or {}).get("cdc") or {} -%}
        {%- for option in cdc if option not in ["semantic_type", "nullable", "default", "unsigned"] -%}
            {% do alluvium._raise_invalid(
                subject, "meta.cdc option of column " ~ column.name, option,
                ["semantic_type", "nullable", "default", "unsigned"]
            ) %}
        {%- endfor -%}
        {%- set data_type = alluvium._normal_type(subject ~ ", column " ~ column.name, column.data_type) -%}
        {%- if cdc.unsigned and not data_type.startswith("decimal") -%}
            {% do alluvium._raise_invalid(
                subject, "data_type of the unsigned column " ~ column.name, data_type, "decimal(20,0)"
            ) %}
        {%- endif -%}
        {%- if cdc.semantic_type -%}
            {% do alluvium._require_one_of(
                subject, "semantic_type of column " ~ column.name ~ " (" ~ data_type ~ ")", cdc.semantic_type,
                alluvium._semantic_types_for(data_type)
            ) %}
        {%- endif -%}
        {%- if "default" in cdc -%}
            {% do alluvium._require_default(subject ~ ", column " ~ column.name, data_type, cdc.default) %}
        {%- endif -%}
        {%- do columns.append({"name": column.name, "data_type": data_type, "cdc": cdc}) -%}
    {%- endfor -%}
    {%- if not columns -%}
        {% do alluvium._raise_invalid(subject, "columns", none, "the table's columns with their data_type") %}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{#
    A default is cast from its text, and a cast that fails is NULL, or rounds, without a word: a decimal in base64 and a
    date as a number of days are what a schema says, not what this option takes. A time without a zone would be shifted
    by the session's.
#}
{% macro _require_default(subject, data_type, default) %}
    {%- set rule = alluvium._default_rule(data_type) -%}
    {%- set is_quoted = default is string or data_type != "string" or default is integer and default is not boolean -%}
    {%- if default is none or not is_quoted
        or not modules.re.fullmatch(rule.pattern, default | string, modules.re.DOTALL) -%}
        {% do alluvium._raise_invalid(subject, "meta.cdc.default", default, rule.said) %}
    {%- endif -%}
    {%- if "bits" in rule and not -2 ** (rule.bits - 1) <= default | int < 2 ** (rule.bits - 1) -%}
        {% do alluvium._raise_invalid(subject, "meta.cdc.default", default, "a number that " ~ data_type ~ " holds") %}
    {%- endif -%}
{% endmacro %}


{#
    Delta holds no two columns whose names differ in case only, and Spark would take one for the other. dbt-spark (1.11)
    takes a column that begins with `#` for the end of a table's columns: it and all after it would be left out of what
    is written. SQL is indented, and Spark SQL has no escapes inside of a quoted name.
#}
{% macro _require_distinct_names(subject, feed) %}
    {%- set names = {} -%}
    {%- for column in feed.columns -%}
        {%- if column.name | lower in names -%}
            {% do alluvium._raise_invalid(
                subject, "name of a column", column.name,
                "names that differ in more than case from the others; leave this one or " ~ names[column.name | lower]
                ~ " out with except_column_list",
            ) %}
        {%- endif -%}
        {%- do names.update({column.name | lower: column.name}) -%}
        {%- if column.name.startswith("#") or alluvium._line_ends(column.name ~ column.data_type) -%}
            {% do alluvium._raise_invalid(
                subject, "name of a column" ~ (", or of a field in it," if "struct" in column.data_type), column.name,
                "a name that does not begin with `#` and has no character that ends a line; leave this one out with "
                "except_column_list",
            ) %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{% macro _require_key(subject, feed, place="") %}
    {%- set names = feed.columns | map(attribute="name") | list -%}
    {%- if feed.key is none or feed.key is string -%}
        {% do alluvium._raise_invalid(
            subject, "meta.cdc.key", feed.key, "a list of columns ([] for a table without a key)" ~ place
        ) %}
    {%- endif -%}
    {%- for column in feed.key -%}
        {% do alluvium._require_one_of(subject, "meta.cdc.key", column, names) %}
    {%- endfor -%}
{% endmacro %}


{#
    The feed behind a relation: of the source itself, or of the source that a model's change log is read from.
    `graph` is filled only at execution; a caller returns its placeholder before it asks.
#}
{% macro _feed_of_relation(caller_name, relation) %}
    {%- set node = alluvium._node_of_relation(relation) -%}
    {%- if not node -%}
        {% do alluvium._raise_invalid(
            caller_name, "relation", relation | string, "a source with meta.cdc, or a model built from one"
        ) %}
    {%- endif -%}
    {{ return(
        alluvium._feed_of_source(caller_name, node) if node.resource_type == "source"
        else alluvium._feed_of_node(caller_name, node)
    ) }}
{% endmacro %}


{% macro _feed_of_node(caller_name, node) %}
    {%- for parent in node.depends_on.nodes -%}
        {%- if parent in graph.sources and graph.sources[parent].external -%}
            {{ return(alluvium._feed_of_source(caller_name, graph.sources[parent])) }}
        {%- endif -%}
    {%- endfor -%}
    {%- for parent in node.depends_on.nodes if parent in graph.nodes -%}
        {{ return(alluvium._feed_of_node(caller_name, graph.nodes[parent])) }}
    {%- endfor -%}
    {% do alluvium._raise_invalid(
        caller_name, "model " ~ node.name, "not built from a source", "a model that reads a source with meta.cdc"
    ) %}
{% endmacro %}


{# Of no event there is a whole one. #}
{% macro _lacks_full_before_images(feed) %}
    {{ return(feed.connector == "postgresql" and feed.replica_identity in ["default", "index", "nothing"]) }}
{% endmacro %}
