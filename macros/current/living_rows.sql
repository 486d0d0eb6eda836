{#
    The rows of a state that live: tombstones are hidden, everything else is as the source has it.
    The whole body of a slv_ model: {{ living_rows(ref('slv_shop__orders_state')) }}
#}
{% macro living_rows(state) %}
    {%- if not execute -%}
        {{ return("select 1 as not_compiled") }}
    {%- endif -%}
    {{ return(adapter.dispatch("living_rows", "alluvium")(state, alluvium.feed_of_relation("living_rows", state))) }}
{% endmacro %}


{% macro default__living_rows(state, feed) -%}
select
    {{ alluvium.column_list(feed.columns | map(attribute="name")) | join(",\n    ") }},
    _cdc_unresolved_columns,
    {{ alluvium.state_lineage_columns() | join(",\n    ") }}
from {{ state }}
where not _is_deleted
{%- endmacro %}
