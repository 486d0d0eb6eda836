"""The silver tables equal the oracle, at every checkpoint of every recorded corpus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from . import not_equal_yet, oracle
from .comparison import compare
from .pipeline import Case, Pipeline
from .verdict import describe, judge

REASONS = {reason.name: reason.why for reason in not_equal_yet.REASONS}


def test_equals_oracle(case: Case, pipeline: Pipeline, record_property: Callable[[str, object], None]) -> None:
    """Every row and cell of a table is what the database had, except what the corpus or `not_equal_yet` names."""
    held = pipeline.held(case)
    result = compare(
        oracle.rows(case.corpus, case.checkpoint.name, case.table),
        held.rows,
        case.table.key,
        case.checkpoint.columns[case.table.name],
    )
    verdict = judge(
        result.differences,
        oracle.known(case.corpus, case.layout, case.checkpoint.name, case.table),
        not_equal_yet.expected_differences(case.corpus, case.table, case.checkpoint)[0],
    )
    record_property("cells", result.cells)
    record_property("excused", verdict.excused)
    record_property("pending", sum(verdict.pending.values()))
    assert not verdict.faults, describe(verdict.faults)
    assert not verdict.settled, f"equal where not_equal_yet.REASONS says it is not: take {verdict.settled} out"
    if verdict.pending:
        pytest.xfail("; ".join(f"{count} x {REASONS[name]}" for name, count in verdict.pending.items()))


def test_change_log_holds_every_event(final_case: Case, pipeline: Pipeline) -> None:
    """The change log has as many events of each operation as Kafka had, and rejects none.

    But updates that do not say which row they changed: those of a flattened table without a key.
    """
    held = pipeline.held(final_case)
    recorded = dict(final_case.corpus.facts["records_by_topic_and_op"][final_case.table.topic])
    tombstones = recorded.pop("tombstone", 0)
    is_undecided = not final_case.table.key and final_case.corpus.shape == "flattened"
    assert held.reject_reasons == ({"missing_before": recorded["u"]} if is_undecided else {})
    assert held.operations == recorded
    # Of the layouts only the Lenses envelope writes tombstones.
    assert held.kinds.get("tombstone", 0) == (tombstones if final_case.layout.store_envelope else 0)
