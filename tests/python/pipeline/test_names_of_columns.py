"""Columns that are called like what the SQL of a state and of a history calls its parts, or have odd characters.

A slow suite.
"""

from __future__ import annotations

import pytest

from .events import lines, postgresql
from .project import Feed, Project

pytestmark = pytest.mark.slow

MARK = "__debezium_unavailable_value"
OTHERS = ("state", "moves", "earlier", "op", "held__op")
PARTS = ("stored", "resets", "logged")
# Those that end a line are rejected by name; a tab needs `delta.columnMapping.mode`, which new projects have.
CONTROLS = [
    f"a{letter}b"
    for letter in map(chr, [*range(9), *range(10, 32), *range(127, 160)])
    if len(f".{letter}.".splitlines()) == 1
]


def moved() -> dict[str, bytes]:
    """A row that moves from key 1 to key 2 and does not send its text again."""
    others = dict.fromkeys(OTHERS, "x")
    return {
        "t+0+0.json": lines(
            postgresql("c", 10, {"id": 1, "note": "long", **others}),
            postgresql("d", 20, {"id": 1, "note": None, **dict.fromkeys(OTHERS)}),
            postgresql("c", 20, {"id": 2, "note": MARK, **others}),
        )
    }


def swapped() -> list[dict[str, bytes]]:
    """Two rows, and the swap of their keys in one transaction."""

    def row(event: int, past: str) -> dict[str, object]:
        return {"event": event, "first": 1, "past": past, **dict.fromkeys(PARTS, "x")}

    return [
        {"t+0+0.json": lines(postgresql("c", 10, row(1, "a")), postgresql("c", 20, row(2, "b")))},
        {
            "t+0+9.json": lines(
                postgresql("d", 101, row(1, "a"), commit=100),
                postgresql("c", 101, row(2, "a"), commit=100),
                postgresql("d", 102, row(2, "b"), commit=100),
                postgresql("c", 102, row(1, "b"), commit=100),
            )
        },
    ]


FEEDS = [
    Feed(
        "names_of_moves",
        {"id": "int", "note": "string"} | dict.fromkeys(OTHERS, "string"),
        [moved()],
        models=("log", "state", "history"),
    ),
    Feed(
        "names_with_controls",
        {"id": "int"} | dict.fromkeys(CONTROLS, "string"),
        [{"t+0+0.json": lines(postgresql("c", 10, {"id": 1} | {name: ascii(name) for name in CONTROLS}))}],
        models=("log", "state", "living", "history"),
    ),
    Feed(
        "names_of_swaps",
        {"event": "int", "first": "int", "past": "string"} | dict.fromkeys(PARTS, "string"),
        swapped(),
        key=("event", "first"),
        cdc={"replica_identity": "full"},
        models=("log", "state", "history"),
    ),
]


def test_value_of_a_moved_row(project: Project) -> None:
    living = [(row["id"], row["note"], row["state"]) for row in project.current_rows("names_of_moves")]
    current = [(row["id"], row["note"], row["state"]) for row in project.current_versions("names_of_moves")]
    assert living == current == [(2, "long", "x")]


def test_rows_of_swapped_keys(project: Project) -> None:
    living = {row["event"]: row["past"] for row in project.current_rows("names_of_swaps")}
    current = {row["event"]: row["past"] for row in project.current_versions("names_of_swaps")}
    assert living == current == {1: "b", 2: "a"}


def test_row_of_columns_with_control_characters(project: Project) -> None:
    for rows in (project.current_rows("names_with_controls"), project.current_versions("names_with_controls")):
        assert [[row[name] for name in CONTROLS] for row in rows] == [list(map(ascii, CONTROLS))]
