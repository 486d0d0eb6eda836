"""Tells differences that are a fault from those that the recordings or the project's open ends account for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .comparison import Difference
from .not_equal_yet import Reason
from .oracle import Known


@dataclass(frozen=True)
class Verdict:
    """What the differences of one table at one checkpoint amount to.

    Attributes:
        faults: differences that nothing accounts for.
        excused: how many the corpus lists as not to be had from the events.
        pending: how many each of `not_equal_yet.REASONS` accounts for, by its name.
        settled: names of reasons that should account for differences here, but none is there.
    """

    faults: tuple[Difference, ...]
    excused: int
    pending: Mapping[str, int]
    settled: tuple[str, ...]


def judge(found: Sequence[Difference], known: Sequence[Known], expected: Mapping[Difference, Reason]) -> Verdict:
    """Sorts the differences that were found.

    Args:
        found: differences from the oracle.
        known: what the corpus lists as not to be had.
        expected: differences that a reader has which does not know what `not_equal_yet` names.
    """
    remaining = [difference for difference in found if not is_known(difference, known)]
    pending = Counter(expected[difference].name for difference in remaining if difference in expected)
    owed = dict.fromkeys(reason.name for difference, reason in expected.items() if not is_known(difference, known))
    return Verdict(
        faults=tuple(difference for difference in remaining if difference not in expected),
        excused=sum(1 for difference in found if is_known(difference, known)),
        pending=dict(pending),
        settled=tuple(name for name in owed if name not in pending),
    )


def is_known(difference: Difference, known: Sequence[Known]) -> bool:
    """True if the corpus lists the cell or row as not to be had."""
    return any(entry.key in (None, difference.key) and entry.column in (None, difference.column) for entry in known)


def describe(differences: Sequence[Difference], shown: int = 20) -> str:
    """The number of differences by kind and column, and the first of them, a line each."""
    kinds = Counter(f"{difference.kind} {difference.column}".strip() for difference in differences)
    counts = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    return "\n".join([f"{len(differences)} differences ({counts})", *map(str, differences[:shown])])
