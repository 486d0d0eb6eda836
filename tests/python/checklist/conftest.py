"""The dbt project over the fixtures that the collected tests ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pipeline.conftest import profile as profile
from pipeline.project import Project

from .fixtures import Fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def project(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
    profile: dict[str, Any],
) -> Project:
    """The project, the n-th round of every fixture built together."""
    asked = [item.callspec.params.get("fixture") for item in request.session.items if hasattr(item, "callspec")]
    feeds = [fixture.feed for fixture in asked if isinstance(fixture, Fixture)]
    built = Project(tmp_path_factory.mktemp("checklist"), spark, feeds, profile)
    built.build_rounds()
    return built
