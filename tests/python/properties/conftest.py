"""The dbt project over the cases of the collected modules, and how much of them there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
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
) -> Suite:
    """The project, every round of it built."""
    seed, count = (request.config.getoption(name) for name in ("--property-seed", "--property-histories"))
    modules = dict.fromkeys(getattr(item, "module", None) for item in request.session.items)
    cases: list[Case] = [
        case
        for module in modules
        if getattr(module, "__package__", None) == __package__ and hasattr(module, "cases")
        for case in module.cases(seed, count)  # type: ignore[union-attr]
    ]
    by_name = {case.name: case for case in cases}
    assert len(by_name) == len(cases), "two cases have one name"
    return Suite(tmp_path_factory.mktemp("properties"), spark, profile, by_name, seed)
