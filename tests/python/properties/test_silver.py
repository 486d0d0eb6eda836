"""Random histories with whole images before: the rows after every round, against the model and the database.

The slow suite (test_many_histories) has the other tables, many more histories, more rounds and other deliveries.
"""

from __future__ import annotations

from .cases import Case, made
from .database import Reset, Table
from .found import FULL
from .generator import Shape
from .suite import Suite

# The truncate comes a round late; of the last snapshot the end comes at once, too.
RESETS = (Reset("snapshot"), Reset("truncate", (1,)), Reset("snapshot", (1, 0)))
NAME = "full_identity"
HISTORIES = 150


def cases(seed: int, count: int | None) -> list[Case]:
    """The cases of this module."""
    shape = Shape(Table(replica_identity="full", resets=RESETS), rounds=2)
    return [made(NAME, shape, seed, count or HISTORIES, FULL, is_sorted_too=False)]


def test_state_is_what_the_model_and_the_database_say(suite: Suite) -> None:
    report = suite.report(NAME)
    assert not report, report


def test_quarantine_has_the_rejected_lines(suite: Suite) -> None:
    assert not suite.cases[NAME].differences_of_quarantine(suite.project)
