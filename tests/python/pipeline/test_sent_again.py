"""PostgreSQL events that are sent again with another end of the transaction before: their own lsn tells them.

A slow suite.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .events import NOON_MS, Event, lines, postgresql
from .project import Feed, MakeProject, Project

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "name": "string"}
FULL = {"replica_identity": "full"}


def event(op: str, lsn: int, key: int, name: str, end: int) -> Event:
    return postgresql(op, lsn, {"id": key, "name": name}, commit=end, txId=700)


def swap(end: int) -> list[Event]:
    """Rows 1 (a) and 2 (b) change their keys in one transaction."""
    return [
        event("d", 210, 1, "a", end),
        event("c", 210, 2, "a", end),
        event("d", 220, 2, "b", end),
        event("c", 220, 1, "b", end),
    ]


def keyless(lsn: int, what: str, end: int, sent: int) -> Event:
    made = postgresql("c", lsn, {"what": what}, commit=end, txId=700)
    return {**made, "ts_ns": NOON_MS * 1_000_000 + sent}


SNAPSHOT = [
    postgresql("r", 100, {"id": 1, "name": "a"}, txId=600),
    postgresql("r", 100, {"id": 2, "name": "b"}, txId=600, snapshot="last"),
]
MODELS = ("log", "state", "living", "history")
SWAPS = {
    # An empty transaction ended between the two deliveries.
    "swap_again": [[*SNAPSHOT, *swap(200)], swap(205)],
    "swap_again_lower": [[*SNAPSHOT, *swap(205)], swap(200)],
    "swap_again_at_once": [[*SNAPSHOT, *swap(200), *swap(205)]],
    "second_half_again": [[*SNAPSHOT, *swap(200), *swap(205)[2:]]],
    "second_half_again_later": [[*SNAPSHOT, *swap(200)], swap(205)[2:]],
}
FEEDS = [
    *(
        Feed(
            name,
            COLUMNS,
            [{f"t+0+{9 * number}.json": lines(*events)} for number, events in enumerate(rounds)],
            cdc=FULL,
            models=MODELS,
        )
        for name, rounds in SWAPS.items()
    ),
    # The events lie at 210 and 220, the transaction was committed at 300, and an empty one at 250.
    Feed(
        "keyless_again",
        {"what": "string"},
        [
            {"t+0+0.json": lines(keyless(210, "a", 200, 1), keyless(220, "b", 200, 2))},
            {"t+0+9.json": lines(keyless(210, "a", 250, 3), keyless(220, "b", 250, 4))},
        ],
        (),
        cdc=FULL,
        models=("log", "state", "living"),
    ),
]


@pytest.mark.parametrize("feed", SWAPS)
def test_swap_that_is_sent_again_leaves_both_rows(project: Project, feed: str) -> None:
    living = {found["id"]: (found["name"], found["_cdc_unresolved_columns"]) for found in project.living(feed)}
    assert living == {1: ("b", None), 2: ("a", None)}
    assert {found["id"]: found["name"] for found in project.current_versions(feed)} == {1: "b", 2: "a"}


def test_rows_without_a_key_are_counted_once(project: Project) -> None:
    assert Counter(found["what"] for found in project.living("keyless_again")) == {"a": 1, "b": 1}


def test_purged_event_stays_out(make_project: MakeProject) -> None:
    feed = Feed("purged_again", COLUMNS, models=("log", "state", "living"))
    project = make_project("purged_again", [feed])
    first = lines(event("c", 150, 1, "Bo", 140), event("c", 210, 1001, "Ada", 200))
    project.land(feed, {"t+0+0.json": first})
    assert not project.dbt("build").failed
    arguments = {
        "source": "pipe",
        "entity": "purged_again",
        "keys": [{"id": 1001}],
        "later_events": "keep",
        "dry_run": False,
    }
    outcome = project.dbt("run-operation", "purge_rows", "--args", json.dumps(arguments))
    assert not outcome.error, outcome.printed
    project.land(feed, {"t+0+9.json": lines(event("c", 210, 1001, "Ada", 205))})
    assert not project.dbt("build").failed
    assert {found["id"]: found["name"] for found in project.living("purged_again")} == {1: "Bo"}
    assert "Ada" not in repr(project.log("purged_again"))
    project.land(feed, {"t+0+19.json": lines(event("c", 310, 1001, "Ida", 300))})
    assert not project.dbt("build").failed
    assert {found["id"]: found["name"] for found in project.living("purged_again")} == {1: "Bo", 1001: "Ida"}
