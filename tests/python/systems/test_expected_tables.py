"""Each source system from its samples: after every load, silver and gold are the rows that the source has.

A slow suite. The expected rows are computed from the source's own data by `scripts/samples`, never by the pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .loads import SAMPLES, Texts, built, differences, expected_rows, expected_tables, loads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

SOURCES = sorted(folder.parent.name for folder in SAMPLES.glob("*/expected"))
CASES = [
    pytest.param(source, load, relation, id=f"{source}-{load}-{relation}")
    for source in SOURCES
    for load in loads(source)
    for relation in expected_tables(source, load)
]


@pytest.fixture(scope="module")
def content(spark: SparkSession) -> dict[tuple[str, str, str], list[Texts]]:
    """Rows by source, load and relation; built at the first use."""
    return {}


def test_every_load_says_what_comes_out() -> None:
    assert SOURCES
    for source in SOURCES:
        assert all(expected_tables(source, load) for load in loads(source)), source


@pytest.mark.parametrize(("source", "load", "relation"), CASES)
def test_rows_are_the_sources(
    source: str, load: str, relation: str, content: dict[tuple[str, str, str], list[Texts]], spark: SparkSession
) -> None:
    if (source, load, relation) not in content:
        for system, landed in built(source, spark):
            for table in expected_tables(source, landed):
                expected = expected_rows(source, landed, table)
                columns = list(expected[0]) if expected else system.columns(table)
                content[source, landed, table] = system.texts(table, columns)
    assert not differences(content[source, load, relation], expected_rows(source, load, relation))
