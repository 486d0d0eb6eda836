"""The rows of each case: scaffolded, answered as a user would, built once and again with what lands later.

One new project, which takes Alluvium as a package, has a source for each entry of the ``build.yml`` files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import inspect
from alluvium.new_project import create
from alluvium.scaffolding import plan

from ..cases import Build, answer, builds, copy, landing

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Project:
    """A project with the sources that the collected tests ask for."""

    folder: Path
    bucket: Path
    builds: list[Build]

    def scaffold(self) -> None:
        for build in self.builds:
            folder = copy(build, self.bucket, "landing")
            plan(inspect(str(folder)), build.source, self.folder).write(self.folder)
            answer(self.folder, build)

    def dbt_build(self, builds: list[Build]) -> dict[str, str]:
        """Messages of the nodes that failed, by their names. The tests of the rows are here."""
        from dbt.cli.main import dbtRunner

        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        selected = [f"source:{build.source}+" for build in builds]
        ran: Any = dbtRunner().invoke(
            ["--quiet", "build", *where, "--exclude", "resource_type:test", "--select", *selected]
        )
        assert ran.exception is None, ran.exception
        return {node.node.name: node.message for node in ran.result if node.status in ("error", "fail")}


@pytest.fixture(scope="module")
def failed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> dict[str, str]:
    """Messages of the nodes that failed in either build, by their names."""
    asked: list[Build] = [
        item.callspec.params["build"]  # type: ignore[misc]  # of any type
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]
    project = Project(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("bucket"), asked)
    create(project.folder, "first_sight")
    project.scaffold()
    failed = project.dbt_build(asked)
    later = [build for build in asked if landing(build.case, build.landing, "later").exists()]
    for build in later:
        copy(build, project.bucket, "later")
    return failed | (project.dbt_build(later) if later else {})


@pytest.mark.parametrize("build", builds(), ids=lambda build: build.source)
def test_rows(build: Build, failed: dict[str, str], spark: SparkSession) -> None:
    mine = {name: message for name, message in failed.items() if f"_{build.source}__" in name}
    assert mine.keys() == build.fails.keys(), mine
    for name, said in build.fails.items():
        assert said in mine[name]
    if build.fails:
        return
    expected = build.expected
    rows = [
        {name: text(row[name]) for name in expected[0]}
        for row in spark.table(f"silver.slv_{build.source}__{build.table}").collect()
    ]
    assert sorted(rows, key=repr) == sorted(({k: text(v) for k, v in row.items()} for row in expected), key=repr)
    log = spark.table(f"silver.stg_{build.source}__{build.table}")
    assert log.where("_cdc_kind = 'rejected'").count() == build.rejected


def text(value: Any) -> str | None:
    """A value as case.yml may write it."""
    return None if value is None else str(value)
