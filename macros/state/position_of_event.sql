{#
    What all deliveries of an event have of its position: what the source says of it alone; of a declared order all but
    the delivery, whose parts have 60 characters with their dots.
#}
{% macro _position_of_event(feed, row="") %}
    {{ return(
        alluvium._position_before_delivery(row) if alluvium._has_declared_order(feed)
        else alluvium._event_position(feed, row)
    ) }}
{% endmacro %}


{#
    What tells an event from others of its key, and is equal in all of its deliveries. Where NULLs are ignored each of
    several rows at one place in a declared order may bring what the others lack.
#}
{% macro _identity_of_event(feed) %}
    {%- set position = alluvium._position_of_event(feed) -%}
    {{ return(
        "struct(" ~ position ~ ", " ~ alluvium._image_of_event(feed) ~ ")" if feed.ignored_null_columns else position
    ) }}
{% endmacro %}


{# PostgreSQL's `id` is the transaction's number and the event's own lsn, another for each event (Debezium 3.6.3). #}
{% macro _transaction_key(column, connector) %}
    {{ return("split_part(" ~ column ~ ", ':', 1)" if connector == "postgresql" else column) }}
{% endmacro %}


{#
    Keys that a second row took while the first one still had it. A swap or a shift of keys in one transaction (a key
    constraint that is checked at its end) sends the create of a key before the delete of the row that had it, so the
    newest event of a key with a living row may be a delete: which row it ends, its image before says. PostgreSQL wants
    REPLICA IDENTITY FULL for such tables; without, the order of a key's events is enough. Oracle checks its keys at the
    end of each statement.

    One row per such key: `rows`, those that live after all its events, oldest first, as structs of `position` and
    `image`; `is_undecided` where an image before was none of them. `from` has all row changes of these keys.
#}
{% macro _has_reused_keys(feed) %}
    {{ return(feed.connector in ["postgresql", "sqlserver", "oracle"] and feed.replica_identity == "full") }}
{% endmacro %}


{% macro _image_of_event(feed) %}
    {%- set values = [] -%}
    {%- for column in feed.columns if column.name not in feed.key -%}
        {%- set name = alluvium._quoted_identifier(column.name) -%}
        {%- set value = alluvium._comparable(name, column.data_type) -%}
        {%- do values.append(value if value == name else value ~ " as " ~ name) -%}
    {%- endfor -%}
    {{ return("struct(" ~ values | join(", ") ~ ")") }}
{% endmacro %}


{#
    What all deliveries of an event share. In PostgreSQL that is its own lsn; the end of the transaction before may be
    another one when it is sent again, where the connector has passed over an empty transaction.
#}
{% macro _event_position(feed, row="") %}
    {%- if feed.connector == "postgresql" -%}
        {{ return(
            "if({0}_cdc_op = 'r', {1}, {2})".format(
                row, alluvium._snapshot_start(feed, row), alluvium._own_lsn(row ~ "_cdc_position")
            )
        ) }}
    {%- endif -%}
    {{ return(alluvium._snapshot_start(feed, row)) }}
{% endmacro %}


{% macro _snapshot_start(feed, row="") %}
    {{ return("left(" ~ row ~ "_cdc_position, " ~ alluvium._source_position_length(feed) ~ ")") }}
{% endmacro %}
