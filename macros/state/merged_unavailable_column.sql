{% macro _merged_unavailable_column(name, feed) %}
    {%- if name == "_cdc_value_positions" -%}
        {{ return(alluvium._merged_value_positions(feed)) }}
    {%- elif name == "_cdc_moved_columns" -%}
        {{ return(alluvium._merged_column_names(feed, name, "false")) }}
    {%- elif name == "_cdc_unresolved_columns" and not alluvium._has_unavailable_values(feed) -%}
        {{ return("null") }}
    {%- elif name == "_cdc_unresolved_columns" -%}
        {{ return(alluvium._merged_column_names(feed, name, "true")) }}
    {%- endif -%}
    {{ return(alluvium._merged_unavailable_value(name)) }}
{% endmacro %}


{#
    The columns that an event may not have sent (_row_images in this folder), in a guarded merge. Each has a position of
    its own, the event's that brought the value, so of two rows of one key the value with the higher position holds, in
    whatever order they are merged. A delete between the two rows ends the older one, and its values with it.
#}
{% macro _is_filled_in(name, feed) %}
    {#- With the past of its key a row has the values already (_changes_with_past). -#}
    {%- if alluvium._has_reused_keys(feed) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if name in ["_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns"] -%}
        {{ return(feed.columns_left_out | length > 0) }}
    {%- endif -%}
    {{ return(name in feed.columns_left_out) }}
{% endmacro %}


{% macro _merged_unavailable_value(name) -%}
    {%- set literal, column = alluvium._string_literal(name), alluvium._quoted_identifier(name) -%}
    case {{ alluvium._latest_value_position(literal) }}
                when {{ alluvium._value_position("target", literal) }} then target.{{ column }}
                when {{ alluvium._value_position("source", literal) }} then source.{{ column }}
            end
{%- endmacro %}


{% macro _merged_value_positions(feed) -%}
    {%- set positions -%}
        map_filter(
                map_from_entries(transform(
                    {{ alluvium._literal_array(feed.columns_left_out) }},
                    name -> struct(name, {{ alluvium._latest_value_position("name") }})
                )),
                (name, position) -> position <> greatest(source._cdc_image_position, target._cdc_image_position)
            )
    {%- endset -%}
    {{ alluvium._map_or_null(positions) }}
{%- endmacro %}


{# Each column is among the names where its value is from; `after_delete` says of one whose row has ended. #}
{% macro _merged_column_names(feed, names, after_delete) -%}
    {%- set merged -%}
        filter(
                {{ alluvium._literal_array(feed.columns_left_out) }},
                name -> case {{ alluvium._latest_value_position("name") }}
                    when ''
                        then {{ after_delete }}
                        and coalesce(source._cdc_image_position, target._cdc_image_position) is not null
                    when {{ alluvium._value_position("target", "name") }} then array_contains(target.{{ names }}, name)
                    when {{ alluvium._value_position("source", "name") }} then array_contains(source.{{ names }}, name)
                    else {{ after_delete }}
                end
            )
    {%- endset -%}
    {{ alluvium._array_or_null(merged) }}
{%- endmacro %}


{#
    Whether an event that is older than the row brings a value that the row does not have; one after a hard delete has
    none.
#}
{% macro _brings_unavailable_value(feed, delete_policy) -%}
    {{ "not target._is_deleted and " if delete_policy == "hard" }}exists(
    {{ alluvium._literal_array(feed.columns_left_out) }},
    name -> {{ alluvium._latest_value_position("name") }} > {{ alluvium._value_position("target", "name") }}
)
{%- endmacro %}


{% macro _latest_value_position(name) -%}
    greatest(
                    {{ alluvium._value_position("target", name) }},
                    {{ alluvium._value_position("source", name) }},
                    if(
                        target._cdc_op = 'd' and target._cdc_position < source._cdc_image_position,
                        target._cdc_position,
                        ''
                    ),
                    if(
                        source._cdc_op = 'd' and source._cdc_position < target._cdc_image_position,
                        source._cdc_position,
                        ''
                    )
                )
{%- endmacro %}


{# Where a row has a column's value from; an empty text where it has none. #}
{% macro _value_position(row, name) -%}
    coalesce({{ row }}._cdc_value_positions[{{ name }}], {{ row }}._cdc_image_position, '')
{%- endmacro %}


{# A hard delete leaves no value. #}
{% macro _unless_deleted(value, delete_policy, resets) %}
    {%- if delete_policy == "soft" -%}
        {{ return(value) }}
    {%- endif -%}
    {{ return(
        "if(if(source._cdc_position > target._cdc_position, source._is_deleted, target._is_deleted"
        ~ (" or " ~ alluvium._is_reset_away(resets, "target.") if resets else "") ~ "), null, " ~ value ~ ")"
    ) }}
{% endmacro %}
