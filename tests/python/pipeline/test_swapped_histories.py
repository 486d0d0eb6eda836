"""Histories of keys that two rows have at once inside a transaction. A slow suite beside test_history."""

from __future__ import annotations

import pytest

from . import test_contested_keys as swaps
from .events import Event, rounds_of
from .project import Feed, Project
from .test_history import source_position

pytestmark = pytest.mark.slow

SWAP_COUNT = len(swaps.events(0))
SWAP_ORDERS: dict[str, list[int]] = {
    "at_once": [0] * SWAP_COUNT,
    "cut_in_transactions": [0 if number < 8 else 1 for number in range(SWAP_COUNT)],
    "newest_first": [0 if number >= 12 else 1 for number in range(SWAP_COUNT)],
    "deletes_last": [1 if event["op"] == "d" else 0 for event in swaps.events(0)],
    "interleaved": [number % 2 for number in range(SWAP_COUNT)],
}
SWAP_BASE = {order: 100 * number for number, order in enumerate(SWAP_ORDERS)}
# (id, name, from, until, what ended it)
SWAPPED = [
    (1, "a", 10, 101, "d"),
    (1, "b", 102, 201, "d"),
    (2, "b", 10, 101, "c"),
    (2, "a", 101, 201, "c"),
    (2, "b", 201, 401, "u"),
    (2, "B", 401, None, None),
    (3, "c", 10, 202, "c"),
    (3, "a", 202, 402, "d"),
    (4, "same", 10, 111, "d"),
    (4, "same", 112, None, None),
    # Another row, and no other values.
    (5, "same", 10, None, None),
    (6, "f", 10, 403, "d"),
    (6, "F", 404, None, None),
    (7, "c", 203, None, None),
    (8, "x", 301, 302, "d"),
]


def rounds_of_swaps() -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], []]
    for order, arrivals in SWAP_ORDERS.items():
        for event, number in zip(swaps.events(SWAP_BASE[order]), arrivals, strict=True):
            arriving[number].insert(0, event)
    # A delete that shows neither of the rows that its key has had.
    for op, lsn, name in (("r", 10, "a"), ("c", 101, "x"), ("d", 102, "y")):
        arriving[1].append(swaps.row(op, lsn, swaps.UNDECIDED, name, commit=0 if op == "r" else 100))
    return rounds_of(arriving)


FEEDS = [
    Feed("swap_history", swaps.COLUMNS, rounds_of_swaps(), cdc={"replica_identity": "full"}, models=("log", "history")),
]


@pytest.mark.parametrize("order", SWAP_ORDERS)
def test_versions_under_contested_keys(project: Project, order: str) -> None:
    base = SWAP_BASE[order]
    found = [
        (
            row["id"] - base,
            row["name"],
            *(
                position and position - 10 * base
                for position in (source_position(row["_cdc_position"]), source_position(row["_cdc_ended_position"]))
            ),
            row["_cdc_ended_op"],
        )
        for row in project.history("swap_history")
        if 0 <= row["id"] - base < 100
    ]
    assert sorted(found) == sorted(SWAPPED)


def test_version_that_the_images_do_not_decide_is_named(project: Project) -> None:
    found = [
        (row["name"], row["tags"], source_position(row["_cdc_position"]), row["_cdc_unresolved_columns"])
        for row in project.history("swap_history")
        if row["id"] == swaps.UNDECIDED
    ]
    assert found == [
        ("a", {"of": "a"}, 10, None),
        ("x", {"of": "x"}, 101, None),
        (None, None, 102, ["name", "tags"]),
    ]
