"""One row per key, the same whatever the order, the split and the repetition of its events."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from .events import Event, lines, mysql, postgresql, rounds_of
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "name": "string", "size": "int"}


def image(key: int, name: str, size: int | None = 1) -> Event:
    return {"id": key, "name": name, "size": size}


def key_only(key: int) -> Event:
    """The image before of a table with REPLICA IDENTITY DEFAULT: NULL in what is no key."""
    return {"id": key, "name": None, "size": None}


def histories(key: int) -> dict[str, tuple[list[Event], tuple[Any, ...]]]:
    """Three events of a key in commit order, and the (name, size, is_deleted, op) that a soft delete leaves."""
    return {
        "updated and deleted": (
            [
                postgresql("c", 10, image(key, "a")),
                postgresql("u", 20, image(key, "b", 2)),
                postgresql("d", 30, image(key, "b", 2)),
            ],
            ("b", 2, True, "d"),
        ),
        "deleted with the key alone": (
            [
                postgresql("c", 10, image(key, "a")),
                postgresql("u", 20, image(key, "b", None)),
                postgresql("d", 30, key_only(key)),
            ],
            ("b", None, True, "d"),
        ),
        "created again after a delete": (
            [
                postgresql("c", 10, image(key, "a")),
                postgresql("d", 20, key_only(key)),
                postgresql("c", 30, image(key, "b", 3)),
            ],
            ("b", 3, False, "c"),
        ),
        "deleted twice": (
            [
                postgresql("d", 10, key_only(key)),
                postgresql("c", 20, image(key, "a")),
                postgresql("d", 30, key_only(key)),
            ],
            ("a", 1, True, "d"),
        ),
        "never seen alive": (
            [
                postgresql("d", 10, key_only(key)),
                postgresql("d", 20, key_only(key)),
                postgresql("d", 30, key_only(key)),
            ],
            (None, None, True, "d"),
        ),
        "snapshot row before its stream events": (
            [
                postgresql("r", 10, image(key, "a"), snapshot="true"),
                # The first transaction of the stream has the snapshot's lsn as the end of the one before.
                postgresql("u", 12, image(key, "b", 2), commit=10),
                postgresql("u", 14, image(key, "c", 3), commit=10),
            ],
            ("c", 3, False, "u"),
        ),
        "snapshot row of a key that was deleted after it": (
            [
                postgresql("r", 10, image(key, "a"), snapshot="true"),
                postgresql("u", 10, image(key, "b", 2), commit=10),
                postgresql("d", 12, key_only(key), commit=10),
            ],
            ("b", 2, True, "d"),
        ),
        "lsn that runs backwards between transactions": (
            [
                postgresql("c", 950, image(key, "a"), commit=99),
                postgresql("u", 120, image(key, "b", 2), commit=1000),
                postgresql("u", 130, image(key, "c", 4), commit=1000),
            ],
            ("c", 4, False, "u"),
        ),
        "the same event delivered three times": (
            [postgresql("u", 10, image(key, "a"))] * 3,
            ("a", 1, False, "u"),
        ),
        "a delete delivered twice": (
            [postgresql("c", 10, image(key, "a")), *[postgresql("d", 20, key_only(key))] * 2],
            ("a", 1, True, "d"),
        ),
    }


HISTORIES = list(histories(0))
# In which round each of the three events arrives; (0, 0, 0) in one file, newest first.
ARRIVALS = [*permutations(range(3)), (0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 0)]


def key_of(history: str, arrival: tuple[int, ...]) -> int:
    return 100 * HISTORIES.index(history) + ARRIVALS.index(arrival)


def rounds() -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], [], []]
    for history in HISTORIES:
        for arrival in ARRIVALS:
            events, _ = histories(key_of(history, arrival))[history]
            for event, number in reversed(list(zip(events, arrival, strict=True))):
                arriving[number].append(event)
    return rounds_of(arriving)


def composite(op: str, lsn: int, region: str, code: str | None, value: int | None) -> Event:
    return postgresql(op, lsn, {"region": region, "code": code, "value": value})


FEEDS = [
    Feed("arrivals", COLUMNS, rounds(), models=("log", "state", "hard", "living")),
    Feed(
        "composite",
        {"region": "string", "code": ("string", {"nullable": True}), "value": "int"},
        [
            {
                "t+0+0.json": lines(
                    composite("c", 1, "eu", None, 1),
                    composite("c", 2, "eu", "", 2),
                    composite("c", 3, "eu", "x", 3),
                    composite("c", 4, "us", None, 4),
                    composite("c", 5, "us", "X", 5),
                    composite("c", 6, "null", None, 6),
                    composite("d", 11, "us", None, None),
                )
            },
            {
                "t+0+6.json": lines(
                    composite("u", 10, "eu", None, 10),
                    composite("u", 12, "us", "x", 12),
                ),
                "t+0+9.json": lines(composite("u", 7, "us", None, 7), composite("u", 20, "eu", None, 20)),
            },
        ],
        key=("region", "code"),
        models=("log", "state"),
    ),
    Feed(
        "binlog",
        {"id": "int", "value": "int"},
        [
            {
                "t+0+0.json": lines(
                    mysql("u", "mysql-bin.000010", 5, {"id": 1, "value": 10}),
                    mysql("u", "mysql-bin.000009", 900, {"id": 1, "value": 9}),
                    mysql("u", "mysql-bin.1000000", 4, {"id": 2, "value": 1000000}),
                    mysql("u", "mysql-bin.999999", 70000, {"id": 2, "value": 999999}),
                    mysql("u", "mysql-bin.000003", 10000, {"id": 3, "value": 3}),
                    mysql("u", "mysql-bin.000003", 9999, {"id": 3, "value": 2}),
                    mysql("u", "mysql-bin.000003", 50, {"id": 4, "value": 11}, binlog_row=11),
                    mysql("u", "mysql-bin.000003", 50, {"id": 4, "value": 2}, binlog_row=2),
                    mysql("d", "mysql-bin.000003", 60, {"id": 5, "value": 1}),
                    mysql("u", "mysql-bin.000004", 60, {"id": 6, "value": 2}),
                )
            },
            {
                "t+0+20.json": lines(
                    mysql("u", "mysql-bin.000009", 99999, {"id": 1, "value": 0}),
                    mysql("u", "mysql-bin.000002", 99999, {"id": 5, "value": 0}),
                    mysql("r", "mysql-bin.000004", 60, {"id": 6, "value": 0}),
                )
            },
        ],
        cdc={"connector": "mysql"},
        models=("log", "state"),
    ),
]
LINEAGE = {"_cdc_position", "_cdc_image_position", "_cdc_file_path", "_cdc_line", "_cdc_batch", "_cdc_kafka_partition"}


def state_of(project: Project, role: str, key: int) -> Row:
    (row,) = [row for row in project.state("arrivals", role=role) if row["id"] == key]
    return row


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("arrival", ARRIVALS, ids=lambda arrival: "".join(map(str, arrival)))
def test_soft_delete_keeps_the_last_values_in_any_order_of_arrival(
    project: Project, history: str, arrival: tuple[int, ...]
) -> None:
    row = state_of(project, "state", key_of(history, arrival))
    assert (row["name"], row["size"], row["_is_deleted"], row["_cdc_op"]) == histories(0)[history][1]


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("arrival", ARRIVALS, ids=lambda arrival: "".join(map(str, arrival)))
def test_hard_delete_leaves_no_value_in_any_order_of_arrival(
    project: Project, history: str, arrival: tuple[int, ...]
) -> None:
    name, size, is_deleted, op = histories(0)[history][1]
    row = state_of(project, "hard", key_of(history, arrival))
    values = (None, None) if is_deleted else (name, size)
    assert (row["name"], row["size"], row["_is_deleted"], row["_cdc_op"]) == (*values, is_deleted, op)


@pytest.mark.parametrize("role", ["state", "hard"])
@pytest.mark.parametrize("history", HISTORIES)
def test_state_is_the_same_in_every_order_of_arrival(project: Project, role: str, history: str) -> None:
    """Positions of the source too, without the delivery that ends them: batches and files differ."""
    seen = set()
    for arrival in ARRIVALS:
        row = state_of(project, role, key_of(history, arrival))
        positions = [(row[name] or "").rsplit(".", 3)[0] for name in ("_cdc_position", "_cdc_image_position")]
        seen.add((*positions, *(value for name, value in row.items() if name not in LINEAGE | {"id"})))
    assert len(seen) == 1


def test_live_view_hides_the_deleted(project: Project) -> None:
    living = {key_of(h, a) for h in HISTORIES for a in ARRIVALS if not histories(0)[h][1][2]}
    assert sorted(row["id"] for row in project.living("arrivals")) == sorted(living)


def test_deletion_has_the_time_of_the_source(project: Project) -> None:
    times = {row["_is_deleted"]: row["_deleted_at"] for row in project.state("arrivals") if row["id"] < 100}
    assert times == {True: "2024-05-01 12:00:00.03"}
    assert {row["_deleted_at"] for row in project.state("arrivals") if not row["_is_deleted"]} == {None}


def test_composite_key_with_null_is_one_key(project: Project) -> None:
    rows = {(r["region"], r["code"]): r["value"] for r in project.state("composite") if not r["_is_deleted"]}
    assert len(project.state("composite")) == 7
    assert rows == {("eu", None): 20, ("eu", ""): 2, ("eu", "x"): 3, ("us", "X"): 5, ("us", "x"): 12, ("null", None): 6}


def test_late_event_does_not_revive_a_deleted_key_with_null(project: Project) -> None:
    (row,) = [row for row in project.state("composite") if (row["region"], row["code"]) == ("us", None)]
    assert (row["_is_deleted"], row["value"]) == (True, 7)


def test_binlog_orders_by_file_number_then_position_then_row(project: Project) -> None:
    assert {row["id"]: row["value"] for row in project.state("binlog") if not row["_is_deleted"]} == {
        1: 10,
        2: 1000000,
        3: 3,
        4: 11,
        6: 2,
    }


@pytest.mark.parametrize("feed", ["arrivals", "binlog"])
def test_every_position_is_of_one_width_and_none_ties(project: Project, feed: str) -> None:
    positions = [row["_cdc_position"] for row in project.log(feed)]
    assert len({len(position) for position in positions}) == 1
    assert len(set(positions)) == len(positions)
