"""Each file is applied once, whatever lands when, and wherever a run was killed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from render.harness import Renderer, relation

from .events import lines, postgresql
from .project import SILVER, Feed, Files, Project, folder_of_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = {"id": "int", "name": "string"}
LEDGER = f"{SILVER}.cdc_file_ledger"


def created(number: int, name: str = "first") -> dict[str, Any]:
    return postgresql("c", number, {"id": number, "name": name})


def updated(number: int, name: str, lsn: int) -> dict[str, Any]:
    return postgresql("u", lsn, {"id": number, "name": name})


def log_name(feed: str) -> str:
    return f"{SILVER}.stg_pipe__{feed}"


def touch_relanded_file(project: Project) -> None:
    """The same bytes once more, with a newer mtime."""
    path = project.landing / "landed" / "b" / "t+0+0.json"
    path.write_bytes(path.read_bytes())
    later = time.time() + 1000
    os.utime(path, (later, later))


def forget_newest_batch(project: Project) -> None:
    """As a run that was killed after the append to the log and before the ledger was written."""
    where = f"change_log = '{log_name('killed')}'"
    newest = project.spark.sql(f"select max(batch) from {LEDGER} where {where}").collect()[0][0]
    assert newest == 2
    project.spark.sql(f"delete from {LEDGER} where {where} and batch = {newest}")


def set_applied_batch_back(project: Project) -> None:
    """As a run that was killed after the merge and before the table's property was written."""
    key = "alluvium.applied_batch.stg_pipe__rebuilt"
    (row,) = project.spark.sql(f"show tblproperties {SILVER}.slv_pipe__rebuilt_state ('{key}')").collect()
    assert row["value"] == "4"
    project.spark.sql(f"alter table {SILVER}.slv_pipe__rebuilt_state set tblproperties ('{key}' = '3')")


def rebuild_log(project: Project) -> None:
    outcome = project.dbt("run", "--full-refresh", "--select", "stg_pipe__rebuilt")
    assert (outcome.failed, outcome.error) == (set(), "")


FIRST = {"t+0+0.json": lines(created(1))}
SECOND = {"t+0+1.json": lines(created(2), updated(1, "second", 20))}
THIRD = {"t+0+2.json": lines(created(3), updated(1, "third", 30))}
STATE = ("log", "state")
# Files of one event each, then mended: in some of them it is on another line.
WRONG = {f"t+0+{10 * number}.json": lines(created(number, "wrong")) for number in range(1, 9)}
MENDED = {
    f"t+0+{10 * number}.json": lines(*[updated(100 + number, "x", 900)] * (number % 2), created(number, "mended"))
    for number in range(1, 9)
}
SHORTENED = {"t+0+0.json": lines(created(1), created(4), updated(1, "only", 40))}
LANDED: list[Files] = [
    {"b/t+0+0.json": lines(created(1)), "b/t+0+1.json": lines(created(2)), "b/t+0+9.json": lines(created(9))},
    {},
    {
        "a/t+0+7.json@old": lines(created(7), updated(1, "late", 50)),
        "b/t+0+1.json": lines(created(2), created(4), updated(2, "second", 60)),
        "b/t+0+5.json": lines(created(5)),
    },
]
FEEDS = [
    Feed("landed", COLUMNS, LANDED, models=STATE, before={2: touch_relanded_file}),
    Feed(
        "killed",
        COLUMNS,
        [*LANDED, {}],
        models=STATE,
        before={3: forget_newest_batch},
        slow=True,
    ),
    Feed(
        "rebuilt",
        COLUMNS,
        [FIRST, SECOND, THIRD, {}],
        models=STATE,
        before={2: rebuild_log, 3: set_applied_batch_back},
        slow=True,
    ),
    Feed("vanished", COLUMNS, [FIRST | SECOND], slow=True),
    Feed("mended", COLUMNS, [WRONG, MENDED], models=("log", "state", "history")),
    Feed(
        "restored_to_older",
        COLUMNS,
        [MENDED, {f"{name}@old": content for name, content in WRONG.items()}],
        models=STATE,
        slow=True,
    ),
    Feed(
        "shortened",
        COLUMNS,
        [SHORTENED | SECOND, {"t+0+0.json": lines(updated(1, "only", 40))}],
        models=STATE,
        slow=True,
    ),
    Feed(
        "lengthened",
        COLUMNS,
        [FIRST, {"t+0+0.json": lines(created(1), updated(1, "whole", 40))}],
        models=STATE,
        slow=True,
    ),
    Feed("never_landed", COLUMNS, [{}], models=STATE, slow=True),
]


def lines_read(project: Project, feed: str, after_round: int | None = None) -> Counter[tuple[str, int, int]]:
    """How often each line of each file, by path and length, is in the log."""
    return Counter(
        (unquote(row["_cdc_file_path"]).rpartition(f"/{feed}/")[2], row["_cdc_file_length"], row["_cdc_line"])
        for row in project.log(feed, after_round)
    )


def lines_landed(rounds: Iterable[Files]) -> Counter[tuple[str, int, int]]:
    """Each line of each file, once."""
    landed: Counter[tuple[str, int, int]] = Counter()
    for files in rounds:
        for path, content in files.items():
            count = content.count(b"\n")
            landed.update((path.removesuffix("@old"), len(content), line + 1) for line in range(count))
    return landed


def names(project: Project, feed: str, after_round: int | None = None) -> dict[int, str]:
    return {row["id"]: row["name"] for row in project.state(feed, after_round)}


def test_second_build_appends_and_merges_nothing(project: Project) -> None:
    """No new version of either table: not even an empty commit."""
    nodes = project.feeds["landed"].nodes.values()
    assert {name: project.versions[1][name] for name in nodes} == {name: project.versions[0][name] for name in nodes}


def test_statements_of_a_build(project: Project) -> None:
    """With nothing new, and with new files. In its first run a session has nothing to refresh: one less for a log."""
    nodes = project.feeds["landed"].nodes
    idle, small = (
        {role: [sql for sql in outcome.statements[nodes[role]] if "set alluvium." not in sql] for role in nodes}
        for outcome in project.outcomes[1:3]
    )
    assert (len(idle["log"]), len(idle["state"])) == (7, 5), idle
    assert len(small["log"]) <= 15, small["log"]
    assert len(small["state"]) <= 12, small["state"]


def test_second_build_says_that_nothing_is_new(project: Project) -> None:
    assert "pipe.landed: 3 new files" in project.outcomes[0].printed
    assert "pipe.landed: no new files" in project.outcomes[1].printed


def test_relanded_file_with_a_newer_mtime_is_not_read_again(project: Project) -> None:
    assert [row["_cdc_batch"] for row in project.log("landed") if row["id"] == 1 and row["name"] == "first"] == [1]


def test_old_file_that_sorts_first_and_arrives_late_is_read(project: Project) -> None:
    late = [row for row in project.log("landed") if "/a/" in row["_cdc_file_path"]]
    assert [(row["id"], row["_cdc_batch"], row["_cdc_file_modified_at"]) for row in late] == [
        (7, 2, "2000-01-01 00:00:00"),
        (1, 2, "2000-01-01 00:00:00"),
    ]


def test_file_landed_anew_with_another_length_is_read_and_rows_stay_right(project: Project) -> None:
    anew = [
        (row["id"], row["_cdc_batch"])
        for row in project.log("landed")
        if row["_cdc_file_path"].endswith("/b/t+0+1.json")
    ]
    assert sorted(anew) == [(2, 1), (2, 2), (2, 2), (4, 2)]
    assert names(project, "landed", 2) == {1: "late", 2: "second", 4: "first", 5: "first", 7: "first", 9: "first"}


@pytest.mark.parametrize(
    "feed", [pytest.param(feed.name, marks=pytest.mark.slow if feed.slow else ()) for feed in FEEDS]
)
def test_no_line_of_a_file_is_read_twice_and_none_is_lost(project: Project, feed: str) -> None:
    assert lines_read(project, feed) == lines_landed(project.feeds[feed].rounds)


@pytest.mark.slow
def test_run_killed_before_the_ledger_was_written_doubles_nothing(project: Project) -> None:
    assert lines_read(project, "killed", 3) == lines_read(project, "killed", 2)
    assert names(project, "killed", 3) == names(project, "killed", 2)
    kept = ("file_path", "file_length", "batch", "line_count", "change_count", "rejected_count", "control_count")
    before, after = ([tuple(row[k] for k in kept) for row in project.ledger("killed", r)] for r in (2, 3))
    assert after == before


@pytest.mark.slow
def test_run_killed_before_the_property_was_written_gives_the_same_rows(project: Project) -> None:
    before, after = (project.state("rebuilt", number) for number in (2, 3))
    assert sorted(after, key=lambda row: row["id"]) == sorted(before, key=lambda row: row["id"])


@pytest.mark.slow
def test_log_rebuilt_alone_then_a_build_gives_the_right_rows(project: Project) -> None:
    assert names(project, "rebuilt") == {1: "third", 2: "first", 3: "first"}
    # Its batches go on counting, so that the state sees news.
    assert {row["_cdc_batch"] for row in project.log("rebuilt")} == {3, 4}


@pytest.mark.slow
def test_dropped_ledger_is_derived_from_the_log(project: Project) -> None:
    feed, late, ledger = project.feeds["killed"], {"c/t+0+20.json": lines(created(20))}, project.spark.table(LEDGER)
    # Other modules look at what the ledger has of their feeds, which are not built again.
    others, schema = ledger.where(f"change_log != '{log_name('killed')}'").collect(), ledger.schema
    project.land(feed, late)
    project.spark.sql(f"drop table {LEDGER}")
    outcome = project.dbt("run", "--select", *feed.nodes.values())
    assert (outcome.failed, outcome.error) == (set(), "")
    made = [row["batch"] for row in project.rows(LEDGER) if row["change_log"] == log_name("killed")]
    project.spark.createDataFrame(others, schema).writeTo(LEDGER).append()
    assert sorted(made) == [1, 1, 1, 2, 2, 2, 3]
    assert names(project, "killed") == names(project, "killed", 2) | {20: "first"}
    assert lines_read(project, "killed") == lines_landed([*feed.rounds, late])


@pytest.mark.slow
def test_full_refresh_without_a_file_that_was_read_is_refused(project: Project) -> None:
    """It would lose what came from it, on a green run."""
    (project.landing / "vanished" / "t+0+1.json").unlink()
    before = project.log("vanished")
    refresh = ("run", "--full-refresh", "--select", "stg_pipe__vanished")
    refused = project.dbt(*refresh)
    message = refused.messages["stg_pipe__vanished"]
    assert "pipe.vanished: full refresh without 1 of the files that" in message
    assert "t+0+1.json" in message
    assert "alluvium_rebuild_without_missing_files" in message
    assert project.log("vanished") == before
    accepted = project.dbt(*refresh, "--vars", "alluvium_rebuild_without_missing_files: true")
    assert (accepted.failed, accepted.error) == (set(), "")
    assert [row["id"] for row in project.log("vanished")] == [1]


@pytest.mark.slow
@pytest.mark.parametrize(("feed", "refused"), [("shortened", True), ("lengthened", False), ("mended", False)])
def test_full_refresh_without_changes_that_a_file_had_is_refused(project: Project, feed: str, refused: bool) -> None:
    """It would lose what such a file has lost; one that was completed or mended has lost nothing."""
    before = sorted((row["id"], row["name"]) for row in project.state(feed))
    refresh = ("run", "--full-refresh", "--select", f"stg_pipe__{feed}+")
    outcome = project.dbt(*refresh)
    if refused:
        message = outcome.messages[f"stg_pipe__{feed}"]
        assert f"pipe.{feed}: full refresh without 2 changes of {log_name(feed)} that files had" in message
        assert "t+0+0.json" in message
    else:
        assert (outcome.failed, outcome.error) == (set(), "")
    assert sorted((row["id"], row["name"]) for row in project.state(feed)) == before


@pytest.mark.parametrize("feed", ["mended", pytest.param("restored_to_older", marks=pytest.mark.slow)])
def test_version_of_a_file_that_is_newer_says_what_its_events_were(project: Project, feed: str) -> None:
    """Not the one whose line or hash sorts higher; and not the one that was landed last, if it is an older one."""
    right = dict.fromkeys(range(1, 9), "mended") | {100 + number: "x" for number in range(1, 9, 2)}
    assert {row["id"]: row["name"] for row in project.state(feed)} == right
    if "history" in project.feeds[feed].nodes:
        assert {row["id"]: row["name"] for row in project.history(feed)} == right


@pytest.mark.slow
def test_place_without_files_is_warned_of(project: Project) -> None:
    """It may be a misspelt location, or a table that nobody has changed yet."""
    location = project.landing / "never_landed"
    assert f"pipe.never_landed: no file found at {location}. Is it the right place?" in project.outcomes[0].printed
    assert "pipe.landed: no file found" not in project.outcomes[1].printed
    assert project.state("never_landed") == []


@pytest.mark.slow
def test_compacted_entries_are_the_same(project: Project) -> None:
    for batch in (49, 50):
        log = log_name("of_many_builds")
        project.spark.sql(f"insert into {LEDGER} (change_log, file_path, batch) values ('{log}', '{batch}', {batch})")
    macros = Renderer(variables={"alluvium_ledger_schema": SILVER}, answers={"optimize": []})
    (statement,) = macros.does("_compact_entries", relation("stg_pipe__of_many_builds", SILVER), 50)
    before = Counter(map(str, project.spark.table(LEDGER).collect()))
    (done,) = project.spark.sql(statement).collect()
    assert (done["metrics"]["numFilesRemoved"], done["metrics"]["numFilesAdded"]) == (2, 1)
    assert Counter(map(str, project.spark.table(LEDGER).collect())) == before


@pytest.mark.parametrize("ledger", ["file_ledger", "run_ledger", "purge_ledger", "released_lines"])
def test_ledger_is_made_where_a_killed_run_left_its_folder(spark: SparkSession, ledger: str) -> None:
    """Delta makes the folder of its log before the first commit. Columns have the types and comments declared."""
    table = relation(ledger, "pipe_ledgers")
    spark.sql("create schema if not exists pipe_ledgers")
    (folder_of_table(spark, "pipe_ledgers", ledger) / "_delta_log" / "_commits").mkdir(parents=True)
    statement = Renderer().render(f"_create_{ledger}_sql", table)
    for _ in range(2):
        spark.sql(statement)
        assert spark.table(str(table)).count() == 0
    declared = statement.partition("struct<")[2].rpartition(">) as declared")[0]
    columns = spark.sql(f"select declared.* from (select cast(null as struct<{declared}>) as declared) as e").schema
    made = spark.table(str(table)).schema
    assert [(field.name, field.dataType, field.metadata) for field in made] == [
        (field.name, field.dataType, field.metadata) for field in columns
    ]
    assert any(field.metadata for field in made)


@pytest.mark.parametrize("location", [None, "odd %20 'place' +é"], ids=["in the warehouse", "in an odd place"])
def test_ledger_whose_folder_alone_is_there_is_entered_with_its_rows(
    spark: SparkSession, tmp_path: Path, location: str | None
) -> None:
    """As after a kill between Delta's commit and the catalog's entry, or a catalog that was lost."""
    schema = f"pipe_lost_{'odd' if location else 'plain'}"
    placed = f" location '{tmp_path / location}'".replace("'place'", "\\'place\\'") if location else ""
    spark.sql(f"create schema if not exists {schema}{placed}")
    ledger = relation("cdc_purge_ledger", schema)
    folder = (
        tmp_path / location / "cdc_purge_ledger" if location else folder_of_table(spark, schema, "cdc_purge_ledger")
    )
    macros = Renderer(absent=["cdc_purge_ledger"], spark=spark)
    statement = macros.render("_create_purge_ledger_sql", ledger)
    macros.render("_create_ledger", ledger, statement)
    spark.sql(f"insert into {ledger} (source, key_hash) values ('shop', 'a')")
    kept = folder.rename(folder.with_name("kept"))
    spark.sql(f"drop table {ledger}")
    kept.rename(folder)
    for _ in range(2):
        macros.render("_create_ledger", ledger, statement)
        assert [(row.source, row.key_hash) for row in spark.table(str(ledger)).collect()] == [("shop", "a")]
    tables = spark.sql(f"show tables in {schema}").collect()
    assert [row.tableName for row in tables if not row.isTemporary] == ["cdc_purge_ledger"]
