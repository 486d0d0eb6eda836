{#
    Fails for each combination of the columns that occurs more than once: the grain of a model with a composite key.
    NULLs count as equal, unlike in a unique constraint: two rows that differ in nothing else are one too many.
    Fails also for each combination with a NULL in one of the columns `not_null`, in the same scan.
#}
{% test unique_combination(model, columns, not_null=[]) %}
select
    {{ alluvium._column_list(columns) | join(", ") }},
    count(*) as row_count
from {{ model }}
group by {{ alluvium._column_list(columns) | join(", ") }}
having
    count(*) > 1
    {%- for column in alluvium._column_list(not_null) %}
    or count({{ column }}) < count(*)
    {%- endfor %}
{% endtest %}
