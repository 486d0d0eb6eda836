"""The reference model against the database that made the events, without Spark."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .cases import Case
from .database import Reset, Table
from .generator import Shape, history
from .model import VALUES, current_state
from .model import history as history_of

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
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=False))
def test_living_rows_are_the_content_of_the_database(name: str, random: Random) -> None:
    case = generated(TABLES[name], random)
    expected = case.expected(1, 0) | case.expected(0, 0)
    living = {
        key: {column: row.values[column] for column in VALUES} for key, row in expected.items() if not row.is_deleted
    }
    assert living == {key: {column: row[column] for column in VALUES} for key, row in case.content.items()}
    assert not any(row.unresolved for row in expected.values() if not row.is_deleted)


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=False))
def test_versions_follow_each_other_and_the_last_one_is_the_row(name: str, random: Random) -> None:
    case = generated(TABLES[name], random)
    versions = {key: found for key, found in history_of(case.table, case.delivered(1, 0)).items() if key[0] == 1}
    living = {key: row.values for key, row in case.expected(1, 0).items() if not row.is_deleted}
    assert {key: found[-1].values for key, found in versions.items() if found[-1].ends is None} == living
    for found in versions.values():
        for version, following in itertools.pairwise(found):
            assert version.ends is not None
            assert version.begins < version.ends <= following.begins


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=False))
def test_order_and_repetition_are_of_no_matter(name: str, random: Random) -> None:
    case = generated(TABLES[name], random)
    events = case.delivered(1, 0)
    shuffled = [*events, *events[::2]]
    Random(1).shuffle(shuffled)
    assert current_state(case.table, shuffled) == current_state(case.table, events)
    assert history_of(case.table, shuffled) == history_of(case.table, events)
