{#
    Lines in = rows out + counted rest, for each file of the newest batch: the files are read once more, undecoded,
    and their lines counted against the change log and against the ledger. The row number of a file's last line has
    to be its number of rows as well, so that nothing is counted twice.
#}
{% test every_line_accounted_for(model) %}
{%- if not execute -%}
select 1 as not_compiled
{%- else -%}
{{ alluvium._unaccounted_lines(model) }}
{%- endif -%}
{% endtest %}
