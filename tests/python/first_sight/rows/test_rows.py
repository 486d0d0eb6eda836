"""The rows of each case: scaffolded, answered as a user would, built once and again with what lands later.

One new project, which takes Alluvium as a package, has a source for each entry of the ``build.yml`` files.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from alluvium.inspection import inspect
from alluvium.new_project import create
from alluvium.scaffolding import plan

from ..cases import Build, answer, builds, copy, landing

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet
    from pyspark.sql import SparkSession


UNIT_TESTS = Path(__file__).with_name("unit_tests.yml.txt")
# What the unit tests have besides the models of the scaffold.
MODELS = {
    "silver/no_image/slv_no_image__items_history": """
{{ alluvium.history(ref("stg_no_image__items")) }}
""",
    "gold/shop/agg_items_by_name": """
select name, cast(sum(qty) as bigint) as qty
from {{ ref("slv_no_image__items") }}
group by name
""",
}


# Of wrong rows in a green build. The others are built by night: all of them take nine minutes.
FAST = {"is_delete", "no_image", "sqlserver_max"}


def marked(build: Build) -> ParameterSet:
    """A parameter that is slow unless it is one of `FAST`."""
    return pytest.param(build, id=build.source, marks=[] if build.source in FAST else [pytest.mark.slow])


@dataclass(frozen=True)
class Project:
    """A project with the sources that the collected tests ask for, and the names of the unit tests that passed."""

    folder: Path
    bucket: Path
    builds: list[Build]
    passed: set[str] = field(default_factory=set)

    def scaffold(self) -> None:
        for build in self.builds:
            folder = copy(build, self.bucket, "landing")
            plan(inspect(str(folder)), build.source, self.folder).write(self.folder)
            answer(self.folder, build)
        if "no_image" in [build.source for build in self.builds]:
            for name, sql in MODELS.items():
                path = self.folder / "models" / f"{name}.sql"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(sql, encoding="utf-8")
            shutil.copy(UNIT_TESTS, self.folder / "models" / "gold" / UNIT_TESTS.stem)

    def dbt_build(self, builds: list[Build]) -> dict[str, str]:
        """Messages of the nodes that failed, by their names. The tests of the rows are here."""
        from dbt.cli.main import dbtRunner

        where = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        selected = [f"source:{build.source}+" for build in builds]
        ran: Any = dbtRunner().invoke(
            ["--quiet", "build", *where, "--exclude", "resource_type:test", "--select", *selected]
        )
        assert ran.exception is None, ran.exception
        self.passed.update(node.node.name for node in ran.result if node.status == "pass")
        return {node.node.name: node.message for node in ran.result if node.status in ("error", "fail")}


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new project with a source for each build that is asked for."""
    asked: list[Build] = [
        item.callspec.params["build"]  # type: ignore[misc]  # of any type
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec")
    ]
    if "test_unit_tests" in [item.name for item in request.session.items]:
        asked += [build for build in builds() if build.source == "no_image" and build not in asked]
    project = Project(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("bucket"), asked)
    create(project.folder, "first_sight")
    project.scaffold()
    return project


@pytest.fixture(scope="module")
def failed(project: Project, spark: SparkSession) -> dict[str, str]:
    """Messages of the nodes that failed in either build, by their names."""
    failed = project.dbt_build(project.builds)
    later = [build for build in project.builds if landing(build.case, build.landing, "later").exists()]
    for build in later:
        copy(build, project.bucket, "later")
    return failed | (project.dbt_build(later) if later else {})


@pytest.mark.parametrize("build", [marked(build) for build in builds()])
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


def test_unit_tests(failed: dict[str, str], project: Project) -> None:
    """dbt's own, of a model of each kind, in a project that has Alluvium as a package."""
    names = {entry["name"] for entry in yaml.safe_load(UNIT_TESTS.read_text("utf-8"))["unit_tests"]}
    assert names & failed.keys() == set(), failed
    assert names - project.passed == set()


def text(value: Any) -> str | None:
    """A value as case.yml may write it."""
    return None if value is None else str(value)
