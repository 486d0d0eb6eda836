"""Maps inside of other types, which Spark does not compare: states and histories take them."""

from __future__ import annotations

from typing import Any

import pytest

from .events import Event, lines, mysql, postgresql
from .project import Feed, Project

pytestmark = pytest.mark.slow

# A type, a value, the same one with its entries in another order, and another one.
TYPES: dict[str, tuple[str, Any, Any, Any]] = {
    "in_struct": (
        "struct<a:int,tags:map<string,string>>",
        {"a": 1, "tags": {"k": "v", "l": "w"}},
        {"a": 1, "tags": {"l": "w", "k": "v"}},
        {"a": 1, "tags": {"k": "v", "l": "x"}},
    ),
    "in_array": (
        "array<map<string,int>>",
        [{"k": 1, "l": 2}, None],
        [{"l": 2, "k": 1}, None],
        [{"k": 1, "l": 2}],
    ),
    "in_map": (
        "MAP<string, STRUCT<n: INT, counts: MAP<string, int>>>",
        {"x": {"n": 1, "counts": {"k": 1, "l": 2}}, "y": None},
        {"y": None, "x": {"n": 1, "counts": {"l": 2, "k": 1}}},
        {"x": {"n": 1, "counts": {"k": 1, "l": 3}}, "y": None},
    ),
}
CONNECTORS: dict[str, dict[str, Any]] = {
    "mysql": {"connector": "mysql"},
    "postgresql": {},
    "full": {"replica_identity": "full"},
}


def event(connector: str, op: str, at: int, key: int, value: Any, before: Any = None) -> Event:
    if connector == "mysql":
        return mysql(op, "bin.000001", at, {"id": key, "value": value})
    return postgresql(op, at, {"id": key, "value": value}, before={"id": key, "value": before} if before else None)


def feed(name: str, connector: str) -> Feed:
    data_type, first, again, other = TYPES[name]
    rounds = [
        [event(connector, "c", 10 + key, key, first) for key in (1, 2)],
        [event(connector, "u", 20, 1, other, first), event(connector, "u", 22, 2, again, first)],
    ]
    return Feed(
        f"maps_{name}_{connector}",
        {"id": "int", "value": data_type},
        [{f"t+0+{number}.json": lines(*events)} for number, events in enumerate(rounds)],
        models=("log", "state", "living", "history"),
        cdc=CONNECTORS[connector],
    )


FEEDS = [feed(name, connector) for name in TYPES for connector in CONNECTORS]


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize("name", TYPES)
def test_values_and_versions(project: Project, name: str, connector: str) -> None:
    _, first, again, other = TYPES[name]
    entity = f"maps_{name}_{connector}"
    assert {row["_cdc_reject_reason"] for row in project.log(entity)} == {None}
    for rows in (project.state(entity), project.living(entity)):
        assert {row["id"]: row["value"] for row in rows} == {1: other, 2: again}
    versions = [(row["id"], row["value"]) for row in project.history(entity)]
    assert sorted(versions, key=lambda version: version[0]) == [(1, first), (1, other), (2, first)]
