"""What the silver tables cannot show yet, and which cells of the recorded corpora that touches.

A reader that keeps the last event of each key has every cell of the corpora except those that one of `REASONS`
explains. Which cells these are is computed from the events (`events`), so the list holds for other recordings too.
The silver tables differ in the cells of those reasons only that are not settled. These can only become fewer: once a
table is equal where such a reason says it cannot be, its test fails and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .comparison import Difference, Key, compare
from .corpora import Checkpoint, Corpus, Table
from .events import Event, current_rows, json_layout, last_per_key, read
from .oracle import rows


@dataclass(frozen=True)
class Evidence:
    """What the events of one table up to a checkpoint say.

    Attributes:
        table: the table.
        histories: events of each key in order.
        truncates: positions of truncates.
        last_snapshot: position of the newest snapshot of the whole database that the files hold.
    """

    table: Table
    histories: dict[Key, list[Event]]
    truncates: list[tuple[int, ...]]
    last_snapshot: tuple[int, ...]


@dataclass(frozen=True)
class Reason:
    """Why cells differ, and how to tell that a difference comes from it.

    Attributes:
        name: short.
        why: one sentence, as the test report shows it.
        explains: True for a difference that a last-event-per-key reader has because of this reason.
        is_settled: True if the silver tables do not have it.
    """

    name: str
    why: str
    explains: Callable[[Difference, Evidence], bool]
    is_settled: bool = False


def _no_key(_difference: Difference, evidence: Evidence) -> bool:
    return not evidence.table.key


def _placeholder(difference: Difference, evidence: Evidence) -> bool:
    return difference.kind == "column" and difference.column in evidence.histories[difference.key][-1].placeholders


def _key_swap(difference: Difference, evidence: Evidence) -> bool:
    operations = [event.op for event in evidence.histories.get(difference.key, [])]
    return difference.kind == "missing" and operations[-2:] == ["c", "d"]


def _truncate(difference: Difference, evidence: Evidence) -> bool:
    if difference.kind != "extra":
        return False
    last = evidence.histories[difference.key][-1]
    return any(last.position < position for position in evidence.truncates)


def _second_snapshot(difference: Difference, evidence: Evidence) -> bool:
    return difference.kind == "extra" and evidence.histories[difference.key][-1].position < evidence.last_snapshot


REASONS = (
    Reason(
        "no_key",
        "the rows of a table without a key replay as a multiset only",
        _no_key,
        is_settled=True,
    ),
    Reason(
        "toast_placeholder",
        "an update leaves out the out-of-line values it did not touch",
        _placeholder,
        is_settled=True,
    ),
    Reason(
        "key_swap",
        "a swap of keys sends the create of a key before the delete of the row that had it",
        _key_swap,
        is_settled=True,
    ),
    Reason("truncate", "a truncate has no key", _truncate, is_settled=True),
    Reason(
        "second_snapshot",
        "rows that a snapshot taken anew no longer finds vanished unseen",
        _second_snapshot,
        is_settled=True,
    ),
)


def expected_differences(
    corpus: Corpus, table: Table, checkpoint: Checkpoint
) -> tuple[dict[Difference, Reason], list[Difference]]:
    """Differences from the oracle that a last-event-per-key reader has at a checkpoint.

    Returns:
        the explained ones with their reason if it is not settled, and those that none of `REASONS` explains (of which
        the caller still has to take out what the corpus itself lists as not to be had).
    """
    evidence, found = _replay(corpus, table, checkpoint)
    explained: dict[Difference, Reason] = {}
    unexplained: list[Difference] = []
    for difference in found:
        reason = next((reason for reason in REASONS if reason.explains(difference, evidence)), None)
        if reason is None:
            unexplained.append(difference)
        elif not reason.is_settled:
            explained[difference] = reason
    return explained, unexplained


def _replay(corpus: Corpus, table: Table, checkpoint: Checkpoint) -> tuple[Evidence, tuple[Difference, ...]]:
    events = _events(corpus, table, checkpoint)
    evidence = Evidence(
        table=table,
        histories=last_per_key(events, table),
        truncates=[event.position for event in events if event.op == "t"],
        last_snapshot=max(
            (
                event.position
                for other in corpus.tables
                for event in _events(corpus, other, checkpoint)
                if event.op == "r" and event.snapshot != "incremental"
            ),
            default=(),
        ),
    )
    expected = rows(corpus, checkpoint.name, table)
    result = compare(expected, current_rows(events, table), table.key, checkpoint.columns[table.name])
    return evidence, result.differences


_read_events: dict[tuple[Corpus, str], list[Event]] = {}


def _events(corpus: Corpus, table: Table, checkpoint: Checkpoint) -> list[Event]:
    if (corpus, table.name) not in _read_events:
        layout = json_layout(corpus, table)
        # Without a JSON layout of the table nothing is expected to differ.
        _read_events[corpus, table.name] = [] if layout is None else read(corpus, layout, table)
    return [event for event in _read_events[corpus, table.name] if event.file.lies_before(checkpoint)]
