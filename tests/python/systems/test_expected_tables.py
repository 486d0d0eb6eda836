"""Each source system from its samples: after every load, silver and gold are the rows that the source has.

A slow suite. The expected rows are computed from the source's own data by `scripts/samples`, never by the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .loads import SAMPLES, Loaded, differences, expected_rows, expected_tables, loads

pytestmark = pytest.mark.slow

SOURCES = sorted(folder.parent.name for folder in SAMPLES.glob("*/expected"))
CASES = [
    pytest.param(source, load, relation, id=f"{source}-{load}-{relation}")
    for source in SOURCES
    for load in loads(source)
    for relation in expected_tables(source, load)
]


def test_every_load_says_what_comes_out() -> None:
    assert SOURCES
    for source in SOURCES:
        assert all(expected_tables(source, load) for load in loads(source)), source


@pytest.mark.parametrize(("source", "load", "relation"), CASES)
def test_rows_are_the_sources(source: str, load: str, relation: str, loaded: Callable[[str], Loaded]) -> None:
    assert not differences(loaded(source).content[load, relation], expected_rows(source, load, relation))
