"""Histories of bare rows: the cases of the torture test that a current table does not show. A slow suite."""

from __future__ import annotations

from typing import Any

import pytest

from .events import Event, lines
from .project import Feed, Project

pytestmark = pytest.mark.slow

CHANGES = 51


def event(case: str, second: int, status: str | None, operation: str = "UPDATE", noise: int = 0) -> Event:
    return {
        "case": case,
        "status": status,
        "noise": noise,
        "changed_at": f"2024-05-01T12:00:{second:02}Z",
        "operation": operation,
    }


FIVE = [
    event("7B", 10, "PENDING", "INSERT"),
    *(event("7B", 10 * step, "ACTIVE") for step in (2, 3, 4)),
    event("7B", 50, None, "DELETE"),
]
FIRST = [
    event("2B", 12, "ACTIVE"),
    event("6B", 17, "ACTIVE"),
    event("6B", 20, None, "DELETE"),
    *FIVE,
    *(event("8", second, "ACTIVE", noise=second) for second in range(CHANGES)),
]
LATE = [event("2B", 10, "PENDING"), event("6B", 18, "SUSPENDED"), *FIVE]
PARTS: list[Event] = [
    {"id": 1, "left": "a", "right": None, "sequence": 1},
    {"id": 1, "left": None, "right": "b", "sequence": 1},
    {"id": 2, "left": "a", "right": None, "sequence": 1},
    {"id": 2, "left": "c", "right": None, "sequence": 2},
    {"id": 2, "left": None, "right": "d", "sequence": 2},
]
FEEDS = [
    Feed(
        "row_history",
        {"case": "string", "status": "string", "noise": "int", "changed_at": "timestamp", "operation": "string"},
        [{"LOAD1.json": lines(*FIRST)}, {"LOAD2.json": lines(*LATE)}],
        key=("case",),
        cdc={
            "connector": "table",
            "shape": "row",
            "sequence_by": "changed_at",
            "apply_as_deletes": "operation = 'DELETE'",
            "except_column_list": ["operation", "changed_at"],
            "track_history_except_column_list": ["noise"],
        },
        models=("log", "history", "tracked"),
        tracked="track_history_column_list=['status', 'noise']",
    ),
    # Rows at one place in the order, of which each brings what the other lacks; one of them is delivered again.
    Feed(
        "row_parts",
        {"id": "int", "left": "string", "right": "string", "sequence": "int"},
        [{"LOAD1.json": lines(*PARTS)}, {"LOAD2.json": lines(PARTS[0])}],
        cdc={
            "connector": "table",
            "shape": "row",
            "sequence_by": "sequence",
            "ignore_null_updates": True,
            "except_column_list": ["sequence"],
        },
        models=("log", "state", "history"),
    ),
]


def versions(project: Project, case: str, role: str = "history") -> list[tuple[Any, ...]]:
    """(status, first second, second of its end) of each version, oldest first."""
    return [
        (row["status"], row["_valid_from"][17:], row["_valid_to"] and row["_valid_to"][17:])
        for row in project.history("row_history", role=role)
        if row["case"] == case
    ]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("2B", [("PENDING", "10", "12"), ("ACTIVE", "12", None)]),
        ("6B", [("ACTIVE", "17", "18"), ("SUSPENDED", "18", "20")]),
        ("7B", [("PENDING", "10", "20"), ("ACTIVE", "20", "50")]),
        ("8", [("ACTIVE", "00", None)]),
    ],
)
def test_case_of_the_torture_test(project: Project, case: str, expected: list[tuple[Any, ...]]) -> None:
    assert versions(project, case) == expected


def test_history_of_every_column_has_a_version_of_each_change(project: Project) -> None:
    assert len(versions(project, "8", "tracked")) == CHANGES


def test_column_that_is_not_tracked_shows_its_last_value(project: Project) -> None:
    (row,) = [row for row in project.history("row_history") if row["case"] == "8"]
    assert row["noise"] == CHANGES - 1


def test_rows_at_one_place_add_up_where_nulls_are_ignored(project: Project) -> None:
    living = {row["id"]: (row["left"], row["right"]) for row in project.state("row_parts")}
    current = {row["id"]: (row["left"], row["right"]) for row in project.current_versions("row_parts")}
    assert living == current == {1: ("a", "b"), 2: ("c", "d")}
