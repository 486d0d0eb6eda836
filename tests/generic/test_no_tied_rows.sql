{# No two rows of a key have one sequence and different contents; on a change log of bare rows. #}
{% test no_tied_rows(model) %}
    {{ alluvium._tied_rows(model) }}
{% endtest %}
