"""What somebody does to tables between two builds: the next build is exact, or refuses with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .events import Event, lines, postgresql
from .project import BRONZE, SILVER, Feed, Files, Project

COLUMNS = {"id": "int", "name": "string", "quantity": "int"}
SHORT = {"id": "int", "quantity": "int"}
GAINED = COLUMNS | {"channel": "string"}
ALL = ("log", "state", "history")
SYNC: dict[str, Any] = {"models": ALL[:2], "on_schema_change": "sync_all_columns"}
BY_NAME = "set tblproperties ('delta.columnMapping.mode' = 'name')"


def event(op: str, lsn: int, key: int, name: str, **more: Any) -> Event:
    return postgresql(op, lsn, {"id": key, "name": name, "quantity": 10 * key, **more})


FIRST = {"t+0+0.json": lines(event("c", 10, 1, "one"), event("c", 20, 2, "two"), event("c", 30, 3, "three"))}
BAD = {"bad.json": lines(event("u", 900, 2, "bad"), event("c", 910, 99, "bad"))}
SECOND = {"t+0+3.json": lines(event("u", 110, 1, "uno"), event("d", 130, 3, "three"))}
WITH_CHANNEL = {"t+0+3.json": lines(event("u", 110, 1, "uno", channel="web"), event("d", 130, 3, "three", channel=""))}
AFTER_FIRST = {1: "one", 2: "two", 3: "three"}
AFTER_SECOND = {1: "uno", 2: "two"}
Step = Callable[[Project], None]

pytestmark = pytest.mark.slow


def table(feed: str, role: str) -> str:
    return f"{SILVER}." + {"log": f"stg_pipe__{feed}"}.get(role, f"slv_pipe__{feed}_{role}")


def sql(*statements: str) -> Step:
    def step(project: Project) -> None:
        for statement in statements:
            project.spark.sql(statement)

    return step


def undone(feed: str, with_entry: bool = False) -> Step:
    """A bad file is taken away, and the log, with its entry or without, is as before it."""

    def step(project: Project) -> None:
        (project.landing / feed / "bad.json").unlink()
        log = table(feed, "log")
        project.spark.sql(f"restore table {log} to version as of {project.versions[0][log.partition('.')[2]]}")
        if with_entry:
            project.spark.sql(f"delete from {SILVER}.cdc_file_ledger where change_log = '{log}' and batch > 1")

    return step


def declared(feed: str, columns: dict[str, str]) -> Step:
    return lambda project: project.redeclare(feed, columns)


def replaced(name: str) -> Step:
    """A state that somebody has written anew, with another value."""
    copy, state = f"{SILVER}.copy_of_state", table(name, "state")
    return sql(
        f"create table {copy} using delta as select * from {state}",
        f"update {copy} set name = 'by hand'",
        f"create or replace table {state} using delta as select * from {copy}",
        f"drop table {copy}",
    )


def without(feed: str, role: str, column: str) -> Step:
    return sql(f"alter table {table(feed, role)} {BY_NAME}", f"alter table {table(feed, role)} drop column {column}")


def left_out(project: Project) -> None:
    project.redeclare("ignored_then", GAINED)
    project.edit("slv_pipe__ignored_then_state", ("append_new_columns", "ignore"))


def added_by_a_run_without_rows(project: Project) -> None:
    state = "slv_pipe__ignored_then_state"
    project.edit(state, ("ignore", "append_new_columns"))
    assert project.dbt("run", "--empty", "--select", state).failed == {state}
    assert "channel" not in project.spark.table(table("ignored_then", "state")).columns


def refused(name: str, *between: Files, **options: Any) -> Feed:
    """A feed of FIRST and SECOND, whose last round fails."""
    fails = (f"stg_pipe__{name}", f"slv_pipe__{name}")
    return Feed(name, COLUMNS, [FIRST, *between, SECOND], fails=fails, **options)


EXACT = [
    (Feed("undone", COLUMNS, [FIRST, BAD, SECOND], models=ALL, before={2: undone("undone")}), AFTER_SECOND),
    (Feed("undone_idle", COLUMNS, [FIRST, BAD, {}], models=ALL[:2], before={2: undone("undone_idle")}), AFTER_FIRST),
    (
        Feed("undone_all", COLUMNS, [FIRST, BAD, SECOND], models=ALL, before={2: undone("undone_all", True)}),
        AFTER_SECOND,
    ),
    (
        Feed("undone_all_idle", COLUMNS, [FIRST, BAD, {}], models=ALL[:2], before={2: undone("undone_all_idle", True)}),
        AFTER_FIRST,
    ),
    (
        Feed(
            "written_by_hand",
            COLUMNS,
            [FIRST, SECOND],
            models=ALL[:2],
            before={1: replaced("written_by_hand")},
        ),
        AFTER_SECOND,
    ),
    (
        Feed(
            "unlisted",
            COLUMNS,
            [FIRST, SECOND],
            models=ALL[:2],
            before={1: sql(f"drop table {BRONZE}.pipe__unlisted__files")},
        ),
        AFTER_SECOND,
    ),
    (
        Feed(
            "gained_back",
            COLUMNS,
            [FIRST, {}, {}, SECOND],
            before={1: declared("gained_back", GAINED), 2: declared("gained_back", COLUMNS)},
            **SYNC,
        ),
        AFTER_SECOND,
    ),
    (
        Feed(
            "noted",
            COLUMNS,
            [FIRST, SECOND],
            before={1: sql(f"alter table {table('noted', 'log')} add columns (note string)")},
            **SYNC,
        ),
        AFTER_SECOND,
    ),
]
REFUSED = [
    (
        refused("lost_back", {}, before={1: declared("lost_back", SHORT), 2: declared("lost_back", COLUMNS)}, **SYNC),
        "log",
        "name",
    ),
    (refused("dropped", before={1: without("dropped", "log", "name")}, models=ALL), "log", "name"),
    (refused("dropped_kind", before={1: without("dropped_kind", "log", "_cdc_kind")}, models=ALL), "log", "_cdc_kind"),
    (
        refused("dropped_flag", before={1: without("dropped_flag", "state", "_is_deleted")}, models=ALL[:2]),
        "state",
        "_is_deleted",
    ),
    (
        refused(
            "ignored_then",
            WITH_CHANNEL,
            before={1: left_out, 2: added_by_a_run_without_rows},
            models=ALL[:2],
            on_schema_change="append_new_columns",
        ),
        "state",
        "channel",
    ),
]
FEEDS = [*[feed for feed, _ in EXACT], *[feed for feed, *_ in REFUSED]]


@pytest.mark.parametrize(("feed", "names"), EXACT, ids=[feed.name for feed, _ in EXACT])
def test_next_build_is_exact(project: Project, feed: Feed, names: dict[int, str]) -> None:
    assert {row["id"]: row["name"] for row in project.current_rows(feed.name)} == names
    if "history" in feed.models:
        assert {row["id"]: row["name"] for row in project.current_versions(feed.name)} == names
    assert list(project.spark.table(table(feed.name, "state")).columns)[:4] == [*COLUMNS, "_is_deleted"]


@pytest.mark.parametrize(("feed", "role", "column"), REFUSED, ids=[feed.name for feed, *_ in REFUSED])
def test_column_whose_values_are_gone_is_refused(project: Project, feed: Feed, role: str, column: str) -> None:
    outcome = project.outcomes[len(feed.rounds) - 1]
    message = outcome.messages[feed.nodes[role]]
    assert f'new columns is "{column}"' in message
    assert f"dbt build --full-refresh --select {feed.nodes[role]}+" in message
    assert column not in project.spark.table(table(feed.name, role)).columns
