"""Truncates and snapshots taken anew: what lies below is gone, in any order of arrival."""

from __future__ import annotations

import pytest

from .events import Event, lines, postgresql, rounds_of
from .project import Feed, Project

pytestmark = pytest.mark.slow
COLUMNS = {"id": "int", "name": "string"}


def row(op: str, lsn: int, key: int, name: str | None = None, snapshot: str = "false") -> Event:
    return postgresql(op, lsn, {"id": key, "name": name or f"{op}{lsn}"}, snapshot=snapshot)


def truncate(lsn: int) -> Event:
    return postgresql("t", lsn)


def snapshot(lsn: int, *keys: int, last: str = "last_in_data_collection") -> list[Event]:
    markers = ["first", *["true"] * (len(keys) - 2), last]
    return [row("r", lsn, key, snapshot=marker) for key, marker in zip(keys, markers, strict=True)]


# Key 1 lives through; 2 is gone with the first truncate; 3 is created again; 4 is deleted before it; 5 is gone with the
# second; 6 is created and deleted after both; 7 is deleted after a truncate that has taken it.
TRUNCATED = [
    *[row("c", 10 + key, key) for key in (1, 2, 3, 4, 7)],
    row("d", 18, 4),
    truncate(20),
    row("d", 22, 7),
    row("c", 23, 3),
    row("c", 25, 5),
    truncate(30),
    row("c", 31, 1),
    row("c", 32, 3),
    row("c", 33, 6),
    row("d", 34, 6),
]
AT_TRUNCATES = {
    # id: (name of a soft delete, is_deleted, seconds of _deleted_at)
    1: ("c31", False, None),
    2: ("c12", True, "00.02"),
    3: ("c32", False, None),
    4: ("c14", True, "00.018"),
    5: ("c25", True, "00.03"),
    6: ("c33", True, "00.034"),
    7: ("c17", True, "00.022"),
}
# Each row of numbers says in which round an event arrives.
ORDERS = {
    "at_once": [0] * len(TRUNCATED),
    "in_order": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2],
    "newest_first": [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0],
    "first_truncate_last": [0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1],
    "rows_after_truncates": [1, 1, 2, 2, 1, 2, 0, 2, 1, 2, 0, 1, 2, 1, 2],
}


# The others are built by the slow suite (test_every_order_of_arrival).
FAST = {"in_order": ("state",)}


def rounds(order: list[int]) -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], [], []]
    for event, number in zip(TRUNCATED, order, strict=True):
        arriving[number].append(event)
    return rounds_of(arriving)


FEEDS = [
    *[Feed(f"truncate_{name}", COLUMNS, rounds(ORDERS[name]), models=("log", *roles)) for name, roles in FAST.items()],
    Feed(
        "snapshot_anew",
        COLUMNS,
        [
            {"t+0+0.json": lines(*snapshot(10, 1, 2, 3, 4), row("u", 12, 1), row("c", 13, 5))},
            # Not to its end, so it closes nothing: 3, 4 and 5 stay.
            {"t+0+9.json": lines(*snapshot(20, 1, 2, last="true"))},
            {"t+0+20.json": lines(*snapshot(30, 1, 4), row("d", 32, 4), row("c", 33, 6))},
            # What was still on its way from before the snapshot, and a file that is read again.
            {"t+0+30.json": lines(row("u", 14, 5), row("u", 34, 1)), "t+0+31.json": lines(*snapshot(10, 1, 2, 3, 4))},
        ],
        models=("log", "state", "living"),
    ),
    Feed(
        "truncate_first",
        COLUMNS,
        [{"t+0+9.json": lines(truncate(20), row("c", 25, 2))}, {"t+0+0.json": lines(row("c", 10, 1))}],
        models=("log", "state"),
    ),
]


def assert_truncated(project: Project, order: str, roles: tuple[str, ...]) -> None:
    """Fails unless the states are what the truncates leave."""
    for role in roles:
        rows = project.state(f"truncate_{order}", role=role)
        found = {
            r["id"]: (
                r["name"],
                r["_is_deleted"],
                r["_deleted_at"] and r["_deleted_at"].removeprefix("2024-05-01 12:00:"),
            )
            for r in rows
        }
        assert found == {
            key: (None if role == "hard" and is_deleted else name, is_deleted, at)
            for key, (name, is_deleted, at) in AT_TRUNCATES.items()
        }, role


@pytest.mark.parametrize("order", FAST)
def test_truncates_delete_what_lies_below_in_any_order_of_arrival(project: Project, order: str) -> None:
    assert_truncated(project, order, FAST[order])


def test_rows_that_a_truncate_takes_are_new_to_marts(project: Project) -> None:
    before = {row["id"]: row["_cdc_batch"] for row in project.state("truncate_in_order", after_round=0)}
    after = {row["id"]: row["_cdc_batch"] for row in project.state("truncate_in_order", after_round=1)}
    assert before == dict.fromkeys((1, 2, 3, 4, 7), 1)
    assert after == {1: 2, 2: 2, 3: 2, 4: 1, 5: 2, 7: 2}


def test_truncate_of_the_first_build_takes_what_comes_later_from_before_it(project: Project) -> None:
    assert {row["id"]: row["_is_deleted"] for row in project.state("truncate_first")} == {1: True, 2: False}


def test_complete_snapshot_closes_what_it_does_not_name(project: Project) -> None:
    def living(after_round: int) -> dict[int, str]:
        rows = project.state("snapshot_anew", after_round)
        return {row["id"]: row["name"] for row in rows if not row["_is_deleted"]}

    assert living(0) == {1: "u12", 2: "r10", 3: "r10", 4: "r10", 5: "c13"}
    assert living(1) == {1: "r20", 2: "r20", 3: "r10", 4: "r10", 5: "c13"}
    assert living(2) == {1: "r30", 6: "c33"}
    assert living(3) == {1: "u34", 6: "c33"}


def test_row_that_vanished_was_gone_when_the_snapshot_was_taken(project: Project) -> None:
    gone = {row["id"]: row for row in project.state("snapshot_anew") if row["_is_deleted"]}
    assert {key: row["_deleted_at"] for key, row in gone.items()} == {
        2: "2024-05-01 12:00:00.03",
        3: "2024-05-01 12:00:00.03",
        4: "2024-05-01 12:00:00.032",
        5: "2024-05-01 12:00:00.03",
    }
    # The last event before it came late, and is the one that the row shows.
    assert (gone[5]["name"], gone[5]["_cdc_op"]) == ("u14", "u")
