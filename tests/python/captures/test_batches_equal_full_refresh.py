"""Loading checkpoint by checkpoint gives row for row what one full refresh gives."""

from __future__ import annotations

from .pipeline import Case, Pipeline


def test_batches_equal_full_refresh(rebuilt_case: Case, pipeline: Pipeline) -> None:
    """Change log, state and living rows are equal in every column but the number of the batch."""
    for model in pipeline.feed(rebuilt_case).models(rebuilt_case.table):
        in_batches, at_once = pipeline.contents_before_and_after_rebuild(rebuilt_case, model)
        lost, gained = in_batches - at_once, at_once - in_batches
        shown = [str(row)[:500] for row in (*list(lost)[:3], *list(gained)[:3])]
        assert not lost, f"{model}: {lost.total()} rows only in batches, {gained.total()} only at once: {shown}"
        assert not gained, f"{model}: {gained.total()} rows only at once: {shown}"
