"""Snapshots that close nothing, and resets in a binlog. A slow suite; test_table_resets has the part in `make test`."""

from __future__ import annotations

import pytest

from .events import lines, mysql, postgresql
from .project import Feed, Project
from .test_table_resets import COLUMNS, row, snapshot

pytestmark = pytest.mark.slow

FEEDS = [
    Feed(
        "snapshot_of_some",
        COLUMNS,
        [{"t+0+0.json": lines(*snapshot(10, 1, 2))}, {"t+0+9.json": lines(*snapshot(20, 2, 3))}],
        cdc={"snapshots": "partial"},
        models=("log", "state"),
    ),
    Feed(
        "snapshot_with_reject",
        COLUMNS,
        [
            {"t+0+0.json": lines(*snapshot(10, 1, 2, 3))},
            {
                "t+0+9.json": lines(
                    *snapshot(20, 1, 2), postgresql("r", 20, {"id": 3, "name": "x", "new": 1}, snapshot="true")
                )
            },
        ],
        models=("log", "state"),
    ),
    Feed(
        "snapshot_with_torn_line",
        COLUMNS,
        [
            {"t+0+0.json": lines(*snapshot(10, 1, 2, 3))},
            {
                "t+0+9.json": lines(
                    row("r", 20, 1, snapshot="first"), '{"before":null,"aft', row("r", 20, 3, snapshot="last")
                )
            },
            # Whatever the line was, a row of a truncated table is gone.
            {"t+0+20.json": lines(postgresql("t", 30), row("c", 31, 4))},
        ],
        models=("log", "state"),
    ),
    Feed(
        "snapshot_in_growing_file",
        COLUMNS,
        [
            {"t+0+0.json": lines(*snapshot(10, 1, 2, 3))},
            # Listed while it is being written, and whole.
            {"t+0+9.json": lines(row("r", 20, 1, snapshot="first"), '{"before":null,"aft')},
            {"t+0+9.json": lines(row("r", 20, 1, snapshot="first"), row("r", 20, 3, snapshot="last"))},
        ],
        cdc={"on_overlap": "ignore"},
        models=("log", "state", "history"),
    ),
    Feed(
        "snapshot_ends_elsewhere",
        COLUMNS,
        [
            {"t+0+0.json": lines(*snapshot(10, 1, 2, 3))},
            {"t+0+9.json": lines(row("r", 20, 1, snapshot="first"))},
            {"t+0+19.json": lines('{"before":null,"aft', row("r", 20, 3))},
        ],
        models=("log", "state", "history"),
    ),
    Feed(
        "snapshot_found_none",
        COLUMNS,
        [{"t+0+0.json": lines(*snapshot(10, 1, 2, 3))}, {}, {"t+0+9.json": lines('{"before":null,"aft')}],
        models=("log", "state", "history"),
    ),
    Feed("snapshot_ends_here", COLUMNS, [{}, {}, {"t+0+9.json": lines(row("r", 20, 1, snapshot="last"))}]),
    Feed(
        "binlog_anew",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    mysql("r", "bin.000001", 90, {"id": 1, "name": "a"}),
                    mysql("r", "bin.000001", 90, {"id": 2, "name": "b"}, snapshot="last"),
                    mysql("c", "bin.000001", 95, {"id": 3, "name": "c"}),
                    mysql("t", "bin.000001", 97, None),
                    mysql("c", "bin.000001", 99, {"id": 4, "name": "d"}),
                    mysql("c", "bin.000001", 99, {"id": 5, "name": "e"}, binlog_row=1),
                )
            },
            {
                "t+0+9.json": lines(
                    mysql("r", "bin.000003", 4, {"id": 5, "name": "f"}, snapshot="last_in_data_collection")
                )
            },
        ],
        cdc={"connector": "mysql"},
        models=("log", "state"),
    ),
]


def living(project: Project, feed: str, after_round: int | None = None) -> set[int]:
    return {row["id"] for row in project.current_rows(feed, after_round)}


def current(project: Project, feed: str) -> set[int]:
    return {version["id"] for version in project.current_versions(feed)}


def prepare(project: Project, *, slow: bool) -> None:
    """Two of the tables see the end of their snapshot in another one's log."""
    for feed in ("snapshot_ends_elsewhere", "snapshot_found_none"):
        for role in ("state", "history"):
            project.edit(
                project.feeds[feed].nodes[role], ('"))', '"), snapshotted_with=[ref("stg_pipe__snapshot_ends_here")])')
            )


def test_partial_snapshot_closes_nothing(project: Project) -> None:
    assert living(project, "snapshot_of_some") == {1, 2, 3}


@pytest.mark.parametrize(
    ("feed", "after_round"),
    [
        ("snapshot_with_reject", 1),
        ("snapshot_with_torn_line", 1),
        ("snapshot_ends_elsewhere", 2),
        ("snapshot_found_none", 2),
    ],
)
def test_snapshot_with_a_rejected_row_closes_nothing(project: Project, feed: str, after_round: int) -> None:
    assert living(project, feed, after_round) == {1, 2, 3}


def test_truncate_holds_beside_a_line_that_is_torn(project: Project) -> None:
    assert living(project, "snapshot_with_torn_line") == {4}


def test_snapshot_of_a_file_that_was_still_being_written_closes_once_it_is_whole(project: Project) -> None:
    feed = "snapshot_in_growing_file"
    assert [living(project, feed, number) for number in range(3)] == [{1, 2, 3}, {1, 2, 3}, {1, 3}]
    assert current(project, feed) == {1, 3}


@pytest.mark.parametrize("feed", ["snapshot_ends_elsewhere", "snapshot_found_none"])
def test_history_is_held_against_the_same_snapshots(project: Project, feed: str) -> None:
    assert current(project, feed) == {1, 2, 3}


def test_binlog_truncate_and_snapshot(project: Project) -> None:
    assert {r["id"]: r["name"] for r in project.current_rows("binlog_anew", 0)} == {4: "d", 5: "e"}
    assert {r["id"]: r["name"] for r in project.current_rows("binlog_anew", 1)} == {5: "f"}
