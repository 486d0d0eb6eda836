"""What stands in the way of a write to Hudi's tables: a clock, settings, and what killed runs leave.

Collected with ``--file-format hudi_cow`` or ``hudi_mor`` (tests/python/hudi/test_in_hudi.py).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from .events import lines, postgresql
from .project import GOLD, SILVER, Feed, MakeProject, Project, folder_of_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"id": "int", "note": "string", "until": "timestamp_ntz"}
# As PostgreSQL's infinity comes.
UNTIL = {"until": 9_223_372_036_825_200_000}
FIRST = {"t+0+0.json": lines(*(postgresql("c", 10 + n, {"id": n, "note": "old", **UNTIL}) for n in range(2)))}
SECOND = {"t+0+2.json": lines(postgresql("u", 20, {"id": 0, "note": "new", **UNTIL}))}
OLD, NEW = {0: "old", 1: "old"}, {0: "new", 1: "old"}
LATE, SETTING, LEFT, FAILED, SHAPED, MOVED, MAKING_ROOM, TAKING_THE_NAME, FROM_DELTA, ALTERED = FEEDS_HERE = tuple(
    Feed(name, COLUMNS, models=("log", "state", "living"), recorded=True)
    for name in (
        "late",
        "setting",
        "left",
        "failed",
        "shaped",
        "moved_to_delta",
        "making_room",
        "taking_the_name",
        "from_delta",
        "half_altered",
    )
)


@pytest.fixture(scope="module")
def written(make_project: MakeProject) -> Project:
    project = make_project("writing", FEEDS_HERE)
    for feed in FEEDS_HERE:
        project.land(feed, FIRST)
    outcome = project.dbt("build", "--exclude", "resource_type:test")
    assert not outcome.failed, outcome.printed
    return project


@contextmanager
def clock_of_the_jvm(spark: SparkSession, zone: str) -> Iterator[None]:
    """Another time zone than UTC, by which Hudi names its commits."""
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]  # a live session has one
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(zone))
    try:
        yield
    finally:
        zones.setDefault(before)


def notes(project: Project, feed: Feed) -> dict[int, str]:
    return {row["id"]: row["note"] for row in project.state(feed.name)}


def test_clock_that_is_behind_the_table_loses_no_row(written: Project) -> None:
    assert str(written.spark._jvm.java.util.TimeZone.getDefault().getID()) == "UTC"  # type: ignore[union-attr]
    written.land(LATE, SECOND)
    state = LATE.nodes["state"]
    with clock_of_the_jvm(written.spark, "Pacific/Honolulu"):
        outcome = written.dbt("run", "--select", f"+{state}")
    assert outcome.failed == {state}
    assert "Hudi would lose the rows of an earlier one" in outcome.messages[state]
    assert notes(written, LATE) == OLD
    assert not written.dbt("run", "--select", state).failed
    assert notes(written, LATE) == NEW


def test_setting_of_a_client_loses_no_row(written: Project) -> None:
    """Of a Thrift server's session, which all share, or of a profile."""
    written.land(SETTING, SECOND)
    state = SETTING.nodes["state"]
    written.spark.sql("set hoodie.datasource.write.operation = insert")
    try:
        outcome = written.dbt("run", "--select", f"+{state}")
    finally:
        written.spark.sql("reset hoodie.datasource.write.operation")
    assert outcome.failed == {state}
    assert 'setting of the session hoodie.datasource.write.operation is "insert"' in outcome.messages[state]
    assert notes(written, SETTING) == OLD
    assert not written.dbt("run", "--select", state).failed
    assert notes(written, SETTING) == NEW


def test_folders_that_a_killed_rebuild_has_left_stop_no_other(written: Project) -> None:
    """Spark creates no table, and gives none a name, over a folder that has files."""
    state = LEFT.nodes["state"]
    folder = folder_of_table(written.spark, SILVER, state)
    for name in ("rebuilt", "replaced", "rebuilt_1", "replaced_1"):
        shutil.copytree(folder, folder.with_name(f"{folder.name}__{name}"))
    # And tables, which go.
    for name in (f"rebuilt_{2:032x}", f"replaced_{2:032x}"):
        written.spark.sql(f"create table {SILVER}.{state}__{name} using parquet as select 1 as id")
    written.land(LEFT, SECOND)
    assert not written.dbt("run", "--full-refresh", "--select", f"{LEFT.nodes['log']}+").failed
    assert notes(written, LEFT) == NEW
    tables = written.spark.sql(f"show tables in {SILVER} like '{state}*'").collect()
    assert [table.tableName for table in tables if not table.isTemporary] == [state]


@contextmanager
def rows_that_fail(project: Project) -> Iterator[None]:
    """States whose query has the same columns, and fails when its rows are asked for."""
    path = project.folder / "macros/models/current_state.sql"
    macro = path.read_text(encoding="utf-8")
    call = "alluvium._state_by_key(change_log, feed, delete_policy, batches, resets)"
    assert call in macro
    failing = f"'select * from (' ~ {call} ~ ') as x where raise_error(\\'boom\\') is null'"
    path.write_text(macro.replace(call, failing), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(macro, encoding="utf-8")


def instants(project: Project, feed: Feed) -> list[str]:
    commits = project.spark.sql(f"call show_commits(table => '{SILVER}.{feed.nodes['state']}')").collect()
    return [commit.commit_time for commit in commits]


def test_full_refresh_is_a_commit_of_its_table_and_one_that_fails_leaves_it(written: Project) -> None:
    state = FAILED.nodes["state"]
    before = instants(written, FAILED)
    written.land(FAILED, SECOND)
    assert not written.dbt("run", "--full-refresh", "--select", f"+{state}").failed
    assert notes(written, FAILED) == NEW
    after = instants(written, FAILED)
    counted = f"select inserted, updated from {SILVER}.cdc_run_ledger where table_name = '{SILVER}.{state}'"
    assert written.spark.sql(f"{counted} order by recorded_at desc").first() == (2, 0)
    assert set(before) < set(after)
    with rows_that_fail(written):
        outcome = written.dbt("run", "--full-refresh", "--select", state)
    assert outcome.failed == {state}
    assert "Exception: boom" in outcome.messages[state]
    assert notes(written, FAILED) == NEW
    outcome = written.dbt("run", "--select", state)
    assert not outcome.failed
    assert f"{state}: built anew, since a rebuild of it was not finished" in outcome.printed
    assert notes(written, FAILED) == NEW
    assert set(after) < set(instants(written, FAILED))


def test_table_of_another_shape_takes_the_place(written: Project) -> None:
    state = SHAPED.nodes["state"]
    before = instants(written, SHAPED)
    written.edit(SHAPED.nodes["state"], ("config(", 'config(partition_by="note", '))
    assert not written.dbt("run", "--full-refresh", "--select", state).failed
    assert notes(written, SHAPED) == OLD
    assert not set(before) & set(instants(written, SHAPED))
    assert [path.name for path in folder_of_table(written.spark, SILVER, state).glob("note=*")] == ["note=old"]


def until(project: Project) -> str:
    """The time of the one row of those that moved which has one."""
    row = project.spark.sql(f"select max(cast(until as string)) as until from {SILVER}.{MOVED.nodes['living']}").first()
    assert row
    return str(row.until)


def test_full_refresh_that_moves_a_table_to_delta_leaves_it_when_it_fails(written: Project) -> None:
    state = MOVED.nodes["state"]
    written.edit(MOVED.nodes["state"], ("config(", 'config(file_format="delta", '))
    refused = written.dbt("run", "--select", state).messages[state]
    assert 'file_format is "delta"; allowed: hudi, as the table has it' in refused
    # A view that is built alone is one over the table as it is.
    assert not written.dbt("run", "--select", MOVED.nodes["living"]).failed
    assert until(written) == "+294247-01-10 04:00:25.2"
    with rows_that_fail(written):
        outcome = written.dbt("run", "--full-refresh", "--select", f"{state}+")
    # The view is skipped.
    assert outcome.failed == {state, MOVED.nodes["living"]}
    assert "Exception: boom" in outcome.messages[state]
    assert notes(written, MOVED) == OLD
    written.land(MOVED, SECOND)
    outcome = written.dbt("run", "--full-refresh", "--select", f"+{MOVED.nodes['living']}")
    assert not outcome.failed, outcome.messages[state]
    assert notes(written, MOVED) == NEW
    assert written.spark.sql(f"describe detail {SILVER}.{state}").first().format == "delta"  # type: ignore[union-attr]
    assert until(written) == "+294247-01-10 04:00:25.2"
    written.land(MOVED, {"t+0+5.json": lines(postgresql("u", 30, {"id": 1, "note": "newer"}))})
    assert not written.dbt("run", "--select", f"+{state}").failed
    assert notes(written, MOVED) == {0: "new", 1: "newer"}
    # And back, where the view of before would show times on the clock of the session's zone.
    written.edit(MOVED.nodes["state"], ('config(file_format="delta", ', "config("))
    refused = written.dbt("run", "--full-refresh", "--select", state).messages[state]
    assert f"where the views over it are built, too, as {SILVER}.{MOVED.nodes['living']}" in refused
    assert notes(written, MOVED) == {0: "new", 1: "newer"}
    call = f'{{{{ current_rows(ref("{state}")) }}}}'
    written.edit(MOVED.nodes["living"], (call, f"no SQL {call}"))
    assert written.dbt("run", "--full-refresh", "--select", f"{state}+").failed == {MOVED.nodes["living"]}
    assert not written.spark.catalog.tableExists(f"{SILVER}.{MOVED.nodes['living']}")
    written.edit(MOVED.nodes["living"], ("no SQL ", ""))
    assert not written.dbt("run", "--select", MOVED.nodes["living"]).failed
    assert notes(written, MOVED) == {0: "new", 1: "newer"}
    assert until(written) == "+294247-01-10 04:00:25.2"
    tables = written.spark.sql(f"show tables in {SILVER} like '{state}*'").collect()
    assert [table.tableName for table in tables if not table.isTemporary] == [state]


def test_files_of_an_overwritten_table_go_with_a_vacuum(written: Project) -> None:
    """After the test of full refreshes: a value that a row has no longer is in no file."""
    state = FAILED.nodes["state"]
    arguments = {"models": [state], "retention_hours": 0, "allow_short_retention": True, "dry_run": False}
    assert not written.dbt("run-operation", "vacuum_tables", "--args", json.dumps(arguments)).failed
    folder = folder_of_table(written.spark, SILVER, state)
    files = [path for path in folder.rglob("*.parquet") if ".hoodie" not in path.parts]
    tables = [pq.read_table(path, columns=["id", "note"]) for path in files]
    kept = {(row["id"], row["note"]) for table in tables for row in table.to_pylist()}
    assert kept == set(NEW.items())
    assert notes(written, FAILED) == NEW


def test_commits_that_were_taken_back_are_applied_again(make_project: MakeProject) -> None:
    feed = Feed("rolled_back", {"id": "int", "note": "string"}, models=("log", "state", "history"))
    project = make_project("rolled_back", [feed])
    (project.folder / "models" / "gold").mkdir()
    state = f'{{{{ ref("{feed.nodes["state"]}") }}}}'
    changed = f'{{{{ changed_keys(ref("{feed.nodes["state"]}"), ["id"]) }}}}'
    merged = '{{ incremental_mart("id") }}'
    for mart, call, condition in (
        ("fct_rolled_back", "", "true"),
        ("fct_changed_and_rolled_back", merged, f"id in ({changed})"),
    ):
        config = 'config(contract={"enforced": false}, on_schema_change="ignore")'
        sql = f"{call}\n{{{{ {config} }}}}\nselect id, note from {state} where {condition}"
        (project.folder / "models" / "gold" / f"{mart}.sql").write_text(sql, encoding="utf-8")
    tables = [f"{SILVER}.{feed.nodes[role]}" for role in ("state", "history")]
    tables += [f"{GOLD}.fct_rolled_back", f"{GOLD}.fct_changed_and_rolled_back"]

    def rows() -> dict[str, list[tuple[int, str]]]:
        found = {table: project.spark.sql(f"select id, note from {table}").collect() for table in tables}
        return {table: sorted((row.id, row.note) for row in of_table) for table, of_table in found.items()}

    project.land(feed, {"t+0+0.json": lines(postgresql("c", 10, {"id": 1, "note": "old"}))})
    assert not project.dbt("run").failed
    changes = lines(postgresql("u", 20, {"id": 1, "note": "new"}), postgresql("c", 21, {"id": 2, "note": "new"}))
    project.land(feed, {"t+0+1.json": changes})
    assert not project.dbt("run").failed
    expected = rows()
    for table in tables:
        newest = project.spark.sql(f"call show_commits(table => '{table}', limit => 1)").first()
        assert newest
        project.spark.sql(f"call rollback_to_instant('{table}', '{newest.commit_time}')").collect()
    assert all((2, "new") not in found for found in rows().values())
    # Whatever is written before the next build.
    compact = {"models": [feed.nodes["state"]], "dry_run": False}
    assert not project.dbt("run-operation", "compact_tables", "--args", json.dumps(compact)).failed
    outcome = project.dbt("run")
    assert not outcome.failed, outcome.messages
    for table in (*tables[:2], tables[3]):
        assert f"{table.partition('.')[2]}: built anew, since its newest commits were taken back" in outcome.printed
    assert rows() == expected
    assert "built anew" not in project.dbt("run").printed
    assert rows() == expected


@contextmanager
def another_session(spark: SparkSession) -> Iterator[None]:
    """Of the same catalog, which has listed no files yet: what dbt runs here has it."""

    def take(session: SparkSession) -> None:
        sessions = spark._jvm.SparkSession  # type: ignore[union-attr]  # a live session has one
        sessions.setDefaultSession(session._jsparkSession)
        sessions.setActiveSession(session._jsparkSession)
        type(spark)._instantiatedSession = session

    take(spark.newSession())
    try:
        yield
    finally:
        take(spark)


def test_session_that_lives_on_reads_what_another_has_written(make_project: MakeProject) -> None:
    """As a Thrift server's, between whose builds another process builds: an older event would go over a newer one."""
    feed = Feed("two_sessions", {"id": "int", "note": "string"}, models=("log", "state", "history", "living"))
    project = make_project("two_sessions", [feed])
    (project.folder / "models" / "gold").mkdir()
    config = '{{ config(contract={"enforced": false}, on_schema_change="ignore") }}'
    select = f'select id, note from {{{{ ref("{feed.nodes["living"]}") }}}}'
    (project.folder / "models" / "gold" / "fct_two_sessions.sql").write_text(f"{config}\n{select}", encoding="utf-8")

    def row(id_: int, operation: str, lsn: int, note: str) -> dict[str, Any]:
        return postgresql(operation, lsn, {"id": id_, "note": note})

    def found(table: str) -> dict[int, str]:
        return {row.id: row.note for row in project.spark.sql(f"select id, note from {table}").collect()}

    living, mart = f"{SILVER}.{feed.nodes['living']}", f"{GOLD}.fct_two_sessions"
    project.land(feed, {"t+0+0.json": lines(*(row(id_, "c", 10 + id_, "old") for id_ in range(3)))})
    assert not project.dbt("run").failed
    assert found(living) == found(mart) == {0: "old", 1: "old", 2: "old"}
    project.land(feed, {"t+0+5.json": lines(row(0, "u", 40, "newest"), row(2, "d", 42, "old"))})
    with another_session(project.spark):
        assert not project.dbt("run", "--exclude", "fct_two_sessions").failed
    assert not project.dbt("run", "--select", "fct_two_sessions").failed
    assert found(mart) == {0: "newest", 1: "old"}
    with another_session(project.spark):
        project.land(feed, {"t+0+8.json": lines(row(1, "u", 50, "newest"))})
        assert not project.dbt("run").failed
    late = lines(row(0, "u", 30, "late"), row(1, "u", 31, "late"), row(2, "u", 32, "late"))
    project.land(feed, {"t+0+9.json": late})
    outcome = project.dbt("run")
    assert not outcome.failed, outcome.messages
    assert found(living) == found(mart) == {0: "newest", 1: "newest"}
    history = project.spark.sql(f"select id, note from {SILVER}.{feed.nodes['history']} where _is_current").collect()
    assert {row.id: row.note for row in history} == {0: "newest", 1: "newest"}


def move_folder(project: Project, table: str, to: str) -> None:
    """As Hive's metastore does before it has the new name."""
    folder = folder_of_table(project.spark, SILVER, table)
    folder.rename(folder.with_name(to))
    # A killed build's session knows of the table what another one does not.
    project.spark._jsparkSession.sessionState().catalog().invalidateAllCachedTables()


def test_rename_that_was_killed_halfway_is_mended(written: Project) -> None:
    """Of a table that was to make room, and of one that was to take the name."""
    run_id = f"{3:032x}"
    making_room, taking_the_name = MAKING_ROOM.nodes["state"], TAKING_THE_NAME.nodes["state"]
    beside = "using hudi as select 1 as id"
    written.spark.sql(f"create table {SILVER}.{making_room}__rebuilt_{run_id} {beside}")
    move_folder(written, making_room, f"{making_room}__replaced_{run_id}")
    written.spark.sql(f"create table {SILVER}.{taking_the_name}__replaced_{run_id} {beside}")
    written.spark.sql(f"alter table {SILVER}.{taking_the_name} rename to {SILVER}.{taking_the_name}__rebuilt_{run_id}")
    move_folder(written, f"{taking_the_name}__rebuilt_{run_id}", taking_the_name)
    for feed in (MAKING_ROOM, TAKING_THE_NAME):
        written.land(feed, SECOND)
    outcome = written.dbt("run", "--select", f"{MAKING_ROOM.nodes['log']}+", f"{TAKING_THE_NAME.nodes['log']}+")
    assert not outcome.failed, outcome.messages
    assert outcome.printed.count("killed while it gave a table its name; mended") == 2
    assert notes(written, MAKING_ROOM) == notes(written, TAKING_THE_NAME) == NEW
    # As any other from here on.
    assert not written.dbt("run", "--full-refresh", "--select", making_room, taking_the_name).failed
    tables = written.spark.sql(f"show tables in {SILVER} like '{making_room}*|{taking_the_name}*'").collect()
    assert {table.tableName for table in tables if not table.isTemporary} == {making_room, taking_the_name}


def test_table_of_deltas_that_was_to_make_room_is_mended(written: Project) -> None:
    """On its way to Hudi."""
    run_id = f"{4:032x}"
    state = FROM_DELTA.nodes["state"]
    written.edit(state, ("config(", 'config(file_format="delta", '))
    assert not written.dbt("run", "--full-refresh", "--select", f"{state}+").failed
    written.spark.sql(f"create table {SILVER}.{state}__rebuilt_{run_id} using hudi as select 1 as id")
    move_folder(written, state, f"{state}__replaced_{run_id}")
    written.land(FROM_DELTA, SECOND)
    outcome = written.dbt("run", "--select", f"{FROM_DELTA.nodes['log']}+")
    assert not outcome.failed, outcome.messages
    assert notes(written, FROM_DELTA) == NEW
    written.edit(state, ('config(file_format="delta", ', "config("))
    assert not written.dbt("run", "--full-refresh", "--select", f"{state}+").failed
    assert notes(written, FROM_DELTA) == NEW


def test_table_that_has_half_of_a_column_gets_it(written: Project) -> None:
    """As a build leaves it that was killed when Hudi had committed the column, and the catalog did not have it yet."""
    state = ALTERED.nodes["state"]
    catalog = written.spark._jsparkSession.sharedState().externalCatalog()
    columns = catalog.getTable(SILVER, state).dataSchema()
    written.spark.sql(f"alter table {SILVER}.{state} set tblproperties ('alluvium.adds_columns' = 'extra')")
    written.spark.sql(f"alter table {SILVER}.{state} add columns (extra string)")
    catalog.alterTableDataSchema(SILVER, state, columns)
    written.spark.sql(f"refresh table {SILVER}.{state}")
    written.redeclare(ALTERED.name, COLUMNS | {"extra": "string"})
    written.land(ALTERED, {"t+0+2.json": lines(postgresql("u", 20, {"id": 0, "note": "new", "extra": "e", **UNTIL}))})
    outcome = written.dbt("run", "--select", f"{ALTERED.nodes['log']}+")
    assert not outcome.failed, outcome.messages
    assert f"model {state}: rewritten for extra" in outcome.printed
    assert {row["id"]: (row["note"], row["extra"]) for row in written.state(ALTERED.name)} == {
        0: ("new", "e"),
        1: ("old", None),
    }
    # A table that was written anew takes the next one as any other does.
    written.redeclare(ALTERED.name, COLUMNS | {"extra": "string", "more": "string"})
    written.land(ALTERED, {"t+0+3.json": lines(postgresql("u", 30, {"id": 1, "note": "new", "more": "m", **UNTIL}))})
    outcome = written.dbt("run", "--select", f"{ALTERED.nodes['log']}+")
    assert not outcome.failed, outcome.messages
    assert f"model {state}: rewritten" not in outcome.printed
    assert {row["id"]: (row["extra"], row["more"]) for row in written.state(ALTERED.name)} == {
        0: ("e", None),
        1: (None, "m"),
    }
