"""Events that contradict the declared key are counted before they are merged, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from .events import lines, postgresql
from .project import Feed, Project

COLUMNS = {"order_number": "int", "item_id": "int"}
SEEN: dict[str, str] = {}


def order(op: str, lsn: int, number: int | None, item: int, **more: Any) -> dict[str, Any]:
    return postgresql(op, lsn, {"order_number": number, "item_id": item}, **more)


def found(project: Project, feed: str) -> dict[str, str]:
    """What the state says of its latest merge."""
    rows = project.spark.sql(f"show tblproperties pipe_silver.slv_pipe__{feed}_state").collect()
    return {row.key.removeprefix("alluvium."): row.value for row in rows if "key_conflict" in row.key}


def remember(project: Project) -> None:
    SEEN.update(found(project, "key_of_others"))


SNAPSHOT = {
    "t+0+0.json": lines(
        order("r", 100, 1, 2, snapshot="first"),
        order("r", 100, 2, 5, snapshot="true"),
        order("r", 100, 3, 1, snapshot="true"),
        order("r", 100, 4, 4, snapshot="last"),
    )
}
WRONG = {
    "t+0+4.json": lines(
        order("c", 200, 5, 2),
        order("c", 200, 5, 2),
        order("c", 210, 6, 9),
        order("u", 220, 6, 9),
        order("u", 230, 7, 11),
        order("d", 240, 8, 12),
    )
}
RIGHT = {
    "t+0+4.json": lines(
        order("d", 200, 1, 2),
        order("c", 210, 5, 2),
        # Delivered again, and a swap of two keys in one transaction.
        order("c", 210, 5, 2),
        order("d", 220, 2, 5, commit=219),
        order("c", 221, 2, 1, commit=219),
        order("d", 222, 3, 1, commit=219),
        order("c", 223, 3, 5, commit=219),
        postgresql("t", 230),
        order("c", 240, 9, 2),
    ),
    "t+0+20.json": lines(order("u", 260, 9, 2)),
}
# A create beside a later event of another file order, and the delete before it in a file that came late.
LATE = [
    {"t+0+30.json": lines(order("c", 330, 12, 2), order("c", 300, 10, 30))},
    {"t+0+40.json": lines(order("d", 310, 9, 2))},
]
FEEDS = [
    Feed(
        "key_of_others",
        COLUMNS,
        [SNAPSHOT, WRONG, {"t+0+10.json": lines(order("c", 300, 10, 30))}],
        key=["item_id"],
        models=("log", "state"),
        before={2: remember},
        slow=True,
    ),
    Feed("key_of_its_own", COLUMNS, [SNAPSHOT, RIGHT, *LATE], key=["item_id"], models=("log", "state"), slow=True),
    # NULL lies in no range of keys.
    Feed(
        "key_with_null",
        {"order_number": ("int", {"nullable": True}), "item_id": "int"},
        [
            {
                "t+0+0.json": lines(
                    *(order("r", 100, None, item, snapshot="true") for item in (1, 2, 3)),
                    order("r", 100, 5, 5, snapshot="last"),
                )
            },
            {
                "t+0+4.json": lines(
                    order("u", 200, None, 1), order("c", 210, None, 2), order("c", 220, None, 3), order("u", 230, 5, 5)
                )
            },
        ],
        key=["order_number", "item_id"],
        models=("log", "state"),
        slow=True,
    ),
    Feed(
        "key_that_fails",
        COLUMNS,
        [SNAPSHOT, WRONG],
        key=["item_id"],
        cdc={"on_key_conflict": "fail"},
        models=("log", "state"),
        fails=["slv_pipe__key_that_fails_state"],
    ),
]


@pytest.mark.slow
def test_events_that_contradict_the_key_are_counted_until_the_next_merge(project: Project) -> None:
    assert SEEN["key_conflicts"] == "3"
    # In hexadecimal digits, for its signs (_shown_text).
    said = bytes.fromhex(SEEN["key_conflict"].removeprefix("0x")).decode()
    assert 'first {"item_id":2} (op c) at ' in said
    assert "t+0+4.json line 1, whose row is from " in said.replace("%2B", "+")
    assert "t+0+0.json line 1." in said.replace("%2B", "+")
    assert "creates of a key that has a row, and updates and deletes of keys that neither" in said
    assert found(project, "key_of_others") == {"key_conflicts": "0", "key_conflict": ""}


@pytest.mark.slow
def test_creates_of_keys_with_null_are_counted_and_updates_are_not(project: Project) -> None:
    assert found(project, "key_with_null")["key_conflicts"] == "2"


@pytest.mark.slow
def test_nothing_else_is_counted(project: Project) -> None:
    assert found(project, "key_of_its_own") == {}
    current = [row for row in project.state("key_of_its_own") if not row["_is_deleted"]]
    assert {row["item_id"]: row["order_number"] for row in current} == {2: 12, 30: 10}


def test_a_state_that_fails_is_not_merged(project: Project) -> None:
    assert {row["item_id"]: row["order_number"] for row in project.state("key_that_fails")} == {2: 1, 5: 2, 1: 3, 4: 4}
