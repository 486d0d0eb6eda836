"""The dbt project over the scenarios of the collected modules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.server import hosting

from .project import Feed, MakeProject, Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def profile(request: pytest.FixtureRequest) -> dict[str, Any]:
    """profiles.yml with targets in several session time zones, for the session of `spark`.

    What a row holds may not depend on it, so all is built in one with summer time, whose values are then held against
    literal ones. The captures are built in UTC, as the repository's profile has it, and so is all over Thrift.
    """
    # 139 s for 152 s with the repository's two, in one pair of runs over four modules: there are many small models.
    local = {"type": "spark", "method": "session", "host": "NA", "schema": "silver", "threads": 4}
    targets: dict[str, Any] = {}
    for target, zone in {"utc": "UTC", "kolkata": "Asia/Kolkata", "new_york": "America/New_York"}.items():
        # Alone: dbt-spark sets all that are here anew before each statement. The session has the others.
        parameters = {"spark.sql.session.timeZone": zone, "spark.sql.shuffle.partitions": "2"}
        targets[target] = local | {"server_side_parameters": parameters}
    target = "new_york"
    if request.config.getoption("--target") == "thrift":
        target, port = "thrift", int(os.environ["ALLUVIUM_THRIFT_PORT"])
        targets[target] = local | {"method": "thrift", "host": hosting.HOST, "port": port}
    return {"alluvium": {"target": target, "outputs": targets}}


def collected_modules(session: pytest.Session, package: str | None) -> list[Any]:
    """The test modules of a package that this session has tests of."""
    modules = dict.fromkeys(getattr(item, "module", None) for item in session.items)
    return [module for module in modules if getattr(module, "__package__", None) == package]


def has_slow_tests(session: pytest.Session, module: Any) -> bool:
    """Whether a slow test of a module is run."""
    items = [item for item in session.items if getattr(item, "module", None) is module]
    return any(item.get_closest_marker("slow") for item in items)


def feeds_of(session: pytest.Session, module: Any) -> list[Feed]:
    """The feeds of a module, without the slow ones where none of its slow tests is run."""
    slow = has_slow_tests(session, module)
    return [feed for feed in getattr(module, "FEEDS", ()) if slow or not feed.slow]


@pytest.fixture(scope="session")
def make_project(
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
    profile: dict[str, Any],
    format_variables: dict[str, str],
) -> MakeProject:
    """Makes a project of a name and of feeds, which builds nothing yet."""

    def made(name: str, feeds: Sequence[Feed]) -> Project:
        return Project(tmp_path_factory.mktemp(name), spark, feeds, profile, format_variables)

    return made


@pytest.fixture(scope="session")
def project(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    """The project, every round of it built."""
    # Other folders' modules may have a `prepare` of another meaning.
    modules = collected_modules(request.session, __package__)
    feeds = [feed for module in modules for feed in feeds_of(request.session, module)]
    built = make_project("pipeline", feeds)
    for module in modules:
        if hasattr(module, "prepare"):
            module.prepare(built, slow=has_slow_tests(request.session, module))
    built.build_rounds()
    return built


@pytest.fixture
def landing(project: Project) -> Path:
    """Where the files of the feeds are, one folder each."""
    return project.landing
