"""Random histories: the tables after every round of delivery, against the model and the database.

The slow suite (test_many_histories) has many more of them, in more rounds and beside other deliveries.
"""

from __future__ import annotations

import pytest

from .cases import Case, made
from .database import Reset, Table
from .found import DEFAULT, FULL
from .generator import Shape
from .suite import Suite

# A round lands between two resets and behind each; parts of all of them come late.
RESETS = (Reset("snapshot"), Reset("truncate", (1,)), Reset("snapshot", (2, 1)))
NAMES = ("default_identity", "full_identity")
HISTORIES = 150


def cases(seed: int, count: int | None) -> list[Case]:
    """The cases of this module."""
    return [
        made(
            name,
            Shape(Table(replica_identity=name.removesuffix("_identity"), resets=RESETS), rounds=3),
            seed,
            count or HISTORIES,
            found,
            is_sorted_too=False,
        )
        for name, found in zip(NAMES, (DEFAULT, FULL), strict=True)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_state_is_what_the_model_and_the_database_say(suite: Suite, name: str) -> None:
    report = suite.report(name)
    assert not report, report


@pytest.mark.parametrize("name", NAMES)
def test_quarantine_has_the_rejected_lines(suite: Suite, name: str) -> None:
    assert not suite.cases[name].differences_of_quarantine(suite.project)
