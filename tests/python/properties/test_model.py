"""The reference model against the database that made the events, without Spark."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .cases import Case
from .database import Reset, Table
from .generator import Shape, history
from .model import VALUES

RESETS = (Reset("snapshot"), Reset("truncate"), Reset("interrupted"), Reset("snapshot"), Reset("truncate"))
TABLES = {
    "default": Table(resets=RESETS),
    "full": Table(replica_identity="full", resets=RESETS),
    "mysql": Table(connector="mysql", resets=RESETS),
    "without resets": Table(replica_identity="full"),
}


def generated(table: Table, random: Random) -> Case:
    shape = Shape(table, rounds=1)
    return Case("model", shape, (history(random, shape, 1),))


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=False))
def test_living_rows_are_the_content_of_the_database(name: str, random: Random) -> None:
    case = generated(TABLES[name], random)
    expected = case.expected(1, 0) | case.expected(0, 0)
    living = {
        key: {column: row.values[column] for column in VALUES} for key, row in expected.items() if not row.is_deleted
    }
    assert living == {key: {column: row[column] for column in VALUES} for key, row in case.content.items()}
    assert not any(row.unresolved for row in expected.values() if not row.is_deleted)
