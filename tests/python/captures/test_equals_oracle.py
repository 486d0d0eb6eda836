"""The silver tables equal the oracle, at every checkpoint of every recorded corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from . import not_equal_yet, oracle
from .comparison import Difference, compare
from .oracle import Known
from .pipeline import Case, Pipeline


def test_equals_oracle(case: Case, pipeline: Pipeline) -> None:
    """Every row and cell of a table is what the database had, except what the corpus or `not_equal_yet` names."""
    held = pipeline.held(case)
    key, columns = case.table.key, case.checkpoint.columns[case.table.name]
    expected = oracle.rows(case.corpus, case.checkpoint.name, case.table)
    found = compare(expected, held.rows, key, columns).differences
    known = oracle.known(case.corpus, case.layout, case.checkpoint.name, case.table)
    found = tuple(difference for difference in found if not any(_names(entry, difference) for entry in known))

    pending = not_equal_yet.expected_differences(case.corpus, case.table, case.checkpoint)[0]
    unexpected = [difference for difference in found if difference not in pending]
    assert not unexpected, _report(unexpected)

    # Rows that the corpus lists as not to be had may not count as pending too.
    pending = {
        difference: reason
        for difference, reason in pending.items()
        if not any(_names(entry, difference) for entry in known)
    }
    reasons = Counter(pending[difference].name for difference in found)
    for reason in dict.fromkeys(pending.values()):
        assert reasons[reason.name], f"equal, although not_equal_yet.REASONS has {reason.name}: take it out"
    if reasons:
        shown = {reason.name: reason.why for reason in pending.values()}
        pytest.xfail("; ".join(f"{count} x {name}: {shown[name]}" for name, count in reasons.items()))


def test_change_log_holds_every_event(final_case: Case, pipeline: Pipeline) -> None:
    """The change log has as many events of each operation as Kafka had, and rejects none."""
    held = pipeline.held(final_case)
    recorded = dict(final_case.corpus.facts["records_by_topic_and_op"][final_case.table.topic])
    tombstones = recorded.pop("tombstone", 0)
    assert held.kinds.get("rejected", 0) == 0
    assert held.operations == recorded
    # Of the layouts only the Lenses envelope writes tombstones.
    assert held.kinds.get("tombstone", 0) == (tombstones if final_case.layout.store_envelope else 0)


def _names(known: Known, difference: Difference) -> bool:
    return known.key in (None, difference.key) and known.column in (None, difference.column)


def _report(differences: Iterable[Difference], shown: int = 20) -> str:
    differences = list(differences)
    kinds = Counter((difference.kind, difference.column) for difference in differences)
    lines = [f"{len(differences)} differences: {dict(kinds)}", *map(str, differences[:shown])]
    return "\n".join(lines)
