"""What stands in the way of a write to Hudi's tables: a clock, and what killed runs leave. Collected with
``--file-format hudi_cow`` or ``hudi_mor`` (tests/python/hudi/test_in_hudi.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from .events import lines, postgresql
from .project import SILVER, Feed, MakeProject, Project, folder_of_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"id": "int", "note": "string"}
FIRST = {"t+0+0.json": lines(*(postgresql("c", 10 + n, {"id": n, "note": "old"}) for n in range(2)))}
SECOND = {"t+0+2.json": lines(postgresql("u", 20, {"id": 0, "note": "new"}))}
OLD, NEW = {0: "old", 1: "old"}, {0: "new", 1: "old"}
LATE, LEFT = (Feed(name, COLUMNS, models=("log", "state")) for name in ("late", "left"))


@pytest.fixture(scope="module")
def written(make_project: MakeProject) -> Project:
    feeds = (LATE, LEFT)
    project = make_project("writing", feeds)
    for feed in feeds:
        project.land(feed, FIRST)
    assert not project.dbt("build", "--exclude", "resource_type:test").failed
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


def test_folders_that_a_killed_rebuild_has_left_stop_no_other(written: Project) -> None:
    """Spark creates no table, and gives none a name, over a folder that has files."""
    state = LEFT.nodes["state"]
    folder = folder_of_table(written.spark, SILVER, state)
    for name in ("rebuilt", "replaced", "rebuilt_1", "replaced_1"):
        shutil.copytree(folder, folder.with_name(f"{folder.name}__{name}"))
    # And tables, which go.
    for name in ("rebuilt_2", "replaced_2"):
        written.spark.sql(f"create table {SILVER}.{state}__{name} using parquet as select 1 as id")
    written.land(LEFT, SECOND)
    assert not written.dbt("run", "--full-refresh", "--select", f"{LEFT.nodes['log']}+").failed
    assert notes(written, LEFT) == NEW
    tables = written.spark.sql(f"show tables in {SILVER} like '{state}*'").collect()
    assert [table.tableName for table in tables if not table.isTemporary] == [state]
