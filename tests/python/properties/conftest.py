"""The dbt project over the cases of the collected modules, and how much of them there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pipeline.conftest import collected_modules
from pipeline.conftest import profile as profile

from .cases import Case
from .suite import Suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def suite(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
    profile: dict[str, Any],
    format_variables: dict[str, str],
) -> Suite:
    """The project, every round of it built."""
    seed, count = (request.config.getoption(name) for name in ("--property-seed", "--property-histories"))
    cases: list[Case] = [
        case
        for module in collected_modules(request.session, __package__)
        if hasattr(module, "cases")
        for case in module.cases(seed, count)
    ]
    by_name = {case.name: case for case in cases}
    assert len(by_name) == len(cases), "two cases have one name"
    return Suite(tmp_path_factory.mktemp("properties"), spark, profile, format_variables, by_name, seed)
