"""Histories beside states, rebuilt, and with other versions than the default. A slow suite."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from . import test_contested_keys as swaps
from . import test_history as histories
from .events import Event, lines, mysql, postgresql
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

WITH_STATE = ("log", "state", "history", "tracked")


def binlog() -> list[dict[str, bytes]]:
    """The newest events first; a snapshot that no longer has key 2, and one row of which is rejected a round later."""
    begun = {1: mysql("r", "bin.000001", 90, {"id": 1, "name": "a"}, snapshot="last")}
    return [
        {
            "t+0+0.json": lines(
                begun[1],
                mysql("u", "bin.000001", 97, {"id": 1, "name": "c"}),
                mysql("c", "bin.000001", 99, {"id": 2, "name": "x"}),
                mysql("r", "bin.000003", 4, {"id": 1, "name": "c"}, snapshot="first"),
                mysql("r", "bin.000003", 4, {"id": 3, "name": "y"}, snapshot="last"),
            )
        },
        {"t+0+9.json": lines(mysql("u", "bin.000001", 95, {"id": 1, "name": "b"}), begun[1])},
        {"t+0+19.json": lines(mysql("r", "bin.000003", 4, {"id": 2, "name": "x", "new": 1}, snapshot="true"))},
    ]


POLICIES = ("append_new_columns", "sync_all_columns")
NARROWED = (("c", 10, 1, "x", 1), ("u", 20, 1, "x", 2), ("u", 30, 1, "y", 3))


def narrowed(op: str, lsn: int, key: int, note: str, size: int) -> Event:
    return postgresql(op, lsn, {"id": key, "note": note, "size": size})


def drop_size(project: Project, name: str) -> None:
    project.redeclare(name, project.feeds[name].columns, except_column_list=["size"])


FEEDS = [
    Feed(
        "long_history",
        histories.COLUMNS,
        histories.rounds(3),
        key=("way", "id"),
        models=WITH_STATE,
        tracked='track_history_column_list=["note"]',
    ),
    Feed(
        "long_swaps",
        swaps.COLUMNS,
        swaps.rounds(),
        cdc={"replica_identity": "full"},
        models=WITH_STATE,
        tracked="collapse_unchanged=false",
    ),
    *(
        Feed(
            f"narrowed_{policy}",
            {"id": "int", "note": "string", "size": "int"},
            [
                {"t+0+0.json": lines(*(narrowed(*change) for change in NARROWED))},
                {"t+0+9.json": lines(narrowed("c", 40, 2, "x", 1))},
            ],
            models=("log", "history"),
            before={1: partial(drop_size, name=f"narrowed_{policy}")},
            on_schema_change=policy,
        )
        for policy in POLICIES
    ),
    Feed(
        "binlog_history",
        {"id": "int", "name": "string"},
        binlog(),
        cdc={"connector": "mysql"},
        models=("log", "history"),
    ),
]


def values(rows: list[Row], names: list[str]) -> list[str]:
    return sorted(str([row[name] for name in names]) for row in rows)


@pytest.mark.parametrize("feed", ["long_history", "long_swaps"])
def test_current_versions_are_the_living_rows(project: Project, feed: str) -> None:
    names = [*project.feeds[feed].columns, "_cdc_unresolved_columns"]
    current = project.current_versions(feed)
    living = project.current_rows(feed)
    assert values(current, names) == values(living, names)


@pytest.mark.parametrize("round_", range(3))
def test_current_versions_are_the_living_rows_after_each_round(project: Project, round_: int) -> None:
    names = ["way", "id", "name", "note"]
    current = project.current_versions("long_history", round_)
    living = project.current_rows("long_history", round_)
    assert values(current, names) == values(living, names)


def test_versions_of_tracked_columns_show_the_last_values_of_the_others(project: Project) -> None:
    rows = histories.of_order(project.history("long_history", role="tracked"), "interleaved")
    found = sorted(histories.version(row)[:5] for row in rows if row["id"] in (1, 5, 10))
    assert found == [
        (1, "c", "n", 10, 50),
        (1, "d", "n", 60, None),
        (5, "b", "long", 14, 34),
        (5, "b", "longer", 34, 50),
        (10, "b", "n", 70, None),
    ]


def test_each_event_makes_a_version_where_none_are_collapsed(project: Project) -> None:
    """But the delete of another row under a contested key."""
    base = swaps.BASE["interleaved"]
    rows = [row for row in project.history("long_swaps", role="tracked") if 0 <= row["id"] - base < 100]
    found = [(row["id"] - base, row["name"], histories.source_position(row["_cdc_position"])) for row in rows]
    lsns = [(key, name, lsn and lsn - 10 * base) for key, name, lsn in found]
    assert [(name, lsn) for key, name, lsn in lsns if key == 5] == [("same", 10), ("same", 111)]
    assert [(name, lsn) for key, name, lsn in lsns if key == 2] == [("b", 10), ("a", 101), ("b", 201), ("B", 401)]


def test_history_of_a_binlog(project: Project) -> None:
    def found(after_round: int) -> list[tuple[Any, ...]]:
        rows = project.history("binlog_history", after_round)
        return sorted((row["id"], row["name"], row["_cdc_op"], row["_cdc_ended_op"]) for row in rows)

    begun = [(1, "a", "r", "u"), (1, "c", "u", None)]
    assert found(0) == [*begun, (2, "x", "c", "r"), (3, "y", "r", None)]
    late = [(1, "a", "r", "u"), (1, "b", "u", "u"), (1, "c", "u", None)]
    assert found(1) == [*late, (2, "x", "c", "r"), (3, "y", "r", None)]
    # The row that was rejected has not vanished.
    assert found(2) == [*late, (2, "x", "c", None), (3, "y", "r", None)]


def test_histories_are_what_a_full_refresh_makes(project: Project) -> None:
    roles = [(feed, role) for feed in FEEDS for role in ("history", "tracked") if role in feed.models]

    def left_out(feed: Feed) -> list[str]:
        # A table keeps a column that is declared no longer until it is built anew.
        return ["_cdc_batch", *project.feeds[feed.name].cdc.get("except_column_list", [])]

    def contents() -> dict[str, list[Row]]:
        return {
            feed.nodes[role]: [
                {name: value for name, value in row.items() if name not in left_out(feed)}
                for row in project.history(feed.name, role=role)
            ]
            for feed, role in roles
        }

    in_batches = contents()
    outcome = project.dbt("run", "--full-refresh", "--select", *in_batches)
    assert not outcome.failed, outcome.messages
    assert contents() == in_batches


def test_nothing_new_is_no_commit(project: Project) -> None:
    nodes = [name for feed in FEEDS for role, name in feed.nodes.items() if role in ("history", "tracked")]
    versions = {name: project.version(name) for name in nodes}
    outcome = project.dbt("run", "--select", *nodes)
    assert not outcome.failed, outcome.messages
    assert {name: project.version(name) for name in nodes} == versions


def test_other_versions_need_a_full_refresh(project: Project) -> None:
    model = project.folder / "models/silver/long_history/slv_pipe__long_history_tracked_history.sql"
    sql = model.read_text(encoding="utf-8")
    model.write_text(sql.replace('["note"]', '["name"]'), encoding="utf-8")
    outcome = project.dbt("run", "--select", model.stem)
    model.write_text(sql, encoding="utf-8")
    assert outcome.failed == {model.stem}
    assert f"--full-refresh --select {model.stem}+" in outcome.messages[model.stem]


@pytest.mark.parametrize("policy", POLICIES)
def test_column_that_is_tracked_no_longer_makes_no_versions_of_keys_without_an_event(
    project: Project, policy: str
) -> None:
    feed = f"narrowed_{policy}"
    assert [row["note"] for row in project.history(feed, 0) if row["id"] == 1] == ["x", "x", "y"]
    assert [row["note"] for row in project.history(feed, 1) if row["id"] == 1] == ["x", "y"]
