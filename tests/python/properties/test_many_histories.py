"""Thousands of random histories in eight rounds: every kind of table, with lost events and whole files again.

Spark's own suites for AUTO CDC have 10 keys, up to 40 events and 3 seeds; this has a hundred times as many events.
"""

from __future__ import annotations

from random import Random

import pytest

from .cases import Case, by_history, different, made
from .database import Reset, Table
from .generator import Shape, resets
from .suite import Suite

pytestmark = pytest.mark.slow

ROUNDS = 8
HISTORIES = 850
RESETS = ("snapshot", "truncate", "interrupted", "snapshot", "truncate")
# Of these every event arrives in the end, so the database itself says what is right.
COMPLETE = {
    "many_default": Table(),
    "many_full": Table(replica_identity="full"),
    "many_mysql": Table(connector="mysql"),
}
# Events are missing for good, truncates and snapshots too; only the model says what is right.
WITH_LOSSES = {f"{name}_lost": table for name, table in COMPLETE.items()}
NAMES = [*COMPLETE, *WITH_LOSSES]
SPARK_EVENTS = 10 * 40 * 3


def cases(seed: int, count: int | None) -> list[Case]:
    """The cases of this module."""
    found = []
    for number, (name, table) in enumerate((COMPLETE | WITH_LOSSES).items()):
        begins = (Reset(),) if name in WITH_LOSSES else resets(Random(seed + number), RESETS, ROUNDS)
        shape = Shape(
            Table(table.connector, table.replica_identity, begins),
            ROUNDS,
            transactions=20 if name in WITH_LOSSES else 7,
            loses=name in WITH_LOSSES,
        )
        models = ("log", "state", "hard") if table.replica_identity == "default" else ("log", "state")
        found.append(
            made(
                name,
                shape,
                seed + number,
                count or HISTORIES,
                copies=name in WITH_LOSSES,
                is_declared=name != "many_default",
                models=models,
            )
        )
    return found


@pytest.mark.parametrize("name", NAMES)
def test_state_is_what_the_model_the_database_and_one_sorted_batch_say(suite: Suite, name: str) -> None:
    report = suite.report(name)
    assert not report, report


@pytest.mark.parametrize("name", NAMES)
def test_quarantine_has_the_rejected_lines(suite: Suite, name: str) -> None:
    assert not suite.cases[name].differences_of_quarantine(suite.project)


@pytest.mark.parametrize("name", NAMES)
def test_full_refresh_gives_the_same_rows(suite: Suite, name: str) -> None:
    case, project = suite.cases[name], suite.project
    before = by_history(project.state(name, ROUNDS - 1))
    nodes = project.feeds[name].nodes
    outcome = project.dbt("run", "--full-refresh", "--select", nodes["log"], nodes["state"])
    assert not outcome.failed, outcome.messages
    after = by_history(project.state(name))
    assert before.keys() == after.keys()
    messages = [message for number in before for message in different(case.table, before[number], after[number])]
    assert not messages, messages[:10]


def test_there_is_a_hundred_times_of_sparks_suite(suite: Suite, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--property-histories") is not None:
        pytest.skip("--property-histories says how many there are")
    events = sum(len(suite.cases[name].records) for name in NAMES)
    assert events >= 100 * SPARK_EVENTS
