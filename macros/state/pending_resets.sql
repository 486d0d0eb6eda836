{#
    Where a table began anew: at a truncate, and at the start of a snapshot of the whole table that has come to its end.
    A row whose newest event lies below is gone, whether or not an event says so: a truncate has no key, and a second
    snapshot no event for a row that it no longer finds. As positions they give the same rows in any order of arrival.

    What the batches to apply have to be held against, oldest first, as {position, micros}: the resets that they bring,
    and those above the oldest change that they bring, which came late. Usually none, and one query says so.
#}
{% macro _pending_resets(change_log, feed, batches, snapshotted_with) %}
    {%- set known = alluvium._known_reset(this) if is_incremental() else "" -%}
    {%- set resets = [] -%}
    {%- if snapshotted_with or batches.after != batches.until -%}
        {%- set news =
            alluvium._query_rows(alluvium._new_resets_sql(change_log, feed, batches, snapshotted_with))[0] -%}
        {%- do alluvium._note_columns_left_out(feed, news.left_out) -%}
        {%- do alluvium._remember("key_range", this, news) -%}
        {%- do alluvium._require_no_broken_dump("current_state", change_log, feed, batches, known)
            if feed.full_dumps and known -%}
        {%- if news.has_whole_deletes -%}
            {%- do alluvium._warn(
                feed.name ~ ": deletes show more of their rows than a key. "
                ~ ("Has it no LOB column" if feed.connector == "oracle" else "Is its REPLICA IDENTITY FULL")
                ~ "? Then say `replica_identity: full` in meta.cdc, or a swap of keys would lose a row; if not, say "
                ~ ("`default`" if feed.connector == "oracle" else "which it is")
            ) -%}
        {%- endif -%}
        {#-
            The row that kept a snapshot from deleting may have been mended: the end of that snapshot is in an older
            batch.
        -#}
        {%- set newest = [known, news.newest_reset or "", news.newest_snapshot or ""] | max -%}
        {%- set lowest =
            [news.oldest_change or newest, news.oldest_reset or newest, news.oldest_snapshot or newest] | min -%}
        {#- Also where nothing lies below it yet: what comes late may. -#}
        {%- if newest > lowest or newest > known -%}
            {#- A contested key's past may reach back behind the oldest change. -#}
            {%- set above = "" if alluvium._has_reused_keys(feed) else [lowest, known or lowest] | min -%}
            {%- do resets.extend(alluvium._standing_resets(change_log, feed, batches, snapshotted_with, above)) -%}
        {%- endif -%}
        {%- set newest = ([known] + resets | map(attribute="position") | list) | max -%}
        {%- do alluvium._remember("reset_at", this, newest) if newest != known -%}
        {%- do alluvium._remember("resets", this, resets) if resets -%}
        {%- do alluvium._remember("oldest_change", this, news.oldest_change) if news.oldest_change -%}
        {%- do alluvium._check_key(change_log, feed, batches, resets, news) if alluvium._may_check_key(feed) -%}
    {%- endif -%}
    {{ return(resets) }}
{% endmacro %}
