{#
    No event of the latest merge of a state contradicts the declared key (`on_key_conflict` in the source's YAML): it
    warns, with the number of such events, until a later merge has none.
#}
{% test key_holds(model) %}
{{ config(severity="warn", fail_calc="coalesce(sum(conflict_count), 0)") }}
{#- Of the table: with `--empty` dbt gives a query in its place. -#}
{%- set state = api.Relation.create(schema=model.schema, identifier=model.identifier) -%}
{{ alluvium._key_conflicts_of_latest_merge(state) if alluvium._may_query() else "select 1 as not_compiled" }}
{% endtest %}
