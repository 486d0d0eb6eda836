"""Events that a connector has sent again after it was started anew, and rows that only look so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import Entity, inspect

if TYPE_CHECKING:
    from pathlib import Path


def inspected(folder: Path, events: list[dict[str, Any]], name: str = "shop.public.orders+0+0.json") -> Entity:
    (folder / name).write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    (entity,) = inspect(str(folder)).entities
    return entity


def event(op: str, image: dict[str, Any], total_order: int | None = None, **source: Any) -> dict[str, Any]:
    transaction = None if total_order is None else {"id": "7:1", "total_order": total_order}
    images = {"before": image, "after": None} if op == "d" else {"before": None, "after": image}
    return {**images, "source": {"table": "orders", **source}, "op": op, "transaction": transaction}


POSITIONS: list[dict[str, Any]] = [
    {"connector": "postgresql", "lsn": 10},
    {"connector": "postgresql", "sequence": '["9","10"]'},
    {"connector": "mysql", "file": "b.1", "pos": 4, "row": 0},
    {"connector": "sqlserver", "commit_lsn": f"{1:08}:{1:08}:0001", "change_lsn": f"{1:08}:{2:08}:0001"},
    {"connector": "oracle", "commit_scn": "1", "scn": "2", "rs_id": "3", "ssn": 0},
    {"connector": "mongodb", "ts_ms": 1000, "ord": 1},
]


@pytest.mark.parametrize("source", POSITIONS, ids=str)
@pytest.mark.parametrize("is_flattened", [False, True])
def test_create_that_was_delivered_again_is_no_second_row(
    tmp_path: Path, source: dict[str, Any], is_flattened: bool
) -> None:
    others = {"sequence": '["10","20"]', "commit_lsn": f"{7:08}:{1:08}:0001", "change_lsn": f"{7:08}:{2:08}:0001"}
    other = {name: others.get(name, 7000) for name in source if name != "connector"}
    events = [event("c", {"id": 1, "x": "a"}, **source), event("c", {"id": 2, "x": "a"}, **{**source, **other})]
    events.append(events[0])
    if is_flattened:
        added = [{f"__source_{name}": value for name, value in one["source"].items()} for one in events]
        events = [{**one["after"], **fields, "__op": "c"} for one, fields in zip(events, added, strict=True)]
    key = inspected(tmp_path, events).key
    assert (key.columns, key.question) == (("id",), None)
    changed: dict[str, Any] = {"x": "b"} if is_flattened else {"after": {"id": 1, "x": "b"}}
    again = {**events[0], **changed}
    assert inspected(tmp_path, [*events, again]).key.columns != ("id",), "one position, and another row"


def test_all_that_was_delivered_again_is_passed_over(tmp_path: Path) -> None:
    row = {"id": 1, "x": "a"}
    truncate = {**event("t", row, lsn=12), "after": None}
    events = [event("c", row, lsn=10), event("d", row, lsn=11), event("c", row, lsn=13), truncate]
    rest = [event("c", {**row, "id": number}, lsn=20 + number) for number in (2, 3)]
    first = [events[0], events[1], truncate, events[2], *rest]
    assert inspected(tmp_path, [*first, *first[1:]]).key.columns == ("id",)


@pytest.mark.parametrize(
    ("places", "name", "expected", "question"),
    [
        (
            (None, None),
            "shop.public.orders+0+0.json",
            (),
            "1 create with the lsn and the values of the one before",
        ),
        ((None, None), "orders.json", (), "delivered twice, or equal rows of one COPY"),
        ((1, 1), "shop.public.orders+0+0.json", ("id",), None),
        ((1, 2), "shop.public.orders+0+0.json", (), "has the table a key?"),
    ],
)
def test_equal_rows_of_a_copy_may_be_two(
    tmp_path: Path, places: tuple[Any, Any], name: str, expected: tuple[str, ...], question: str | None
) -> None:
    """PostgreSQL's COPY has one lsn for several rows, one after the other."""
    row = {"id": 1, "x": "a"}
    first, second = (event("c", row, place, lsn=10) for place in places)
    key = inspected(tmp_path, [event("c", {"id": 2, "x": "a"}, lsn=9), first, second], name).key
    assert key.columns == expected
    assert key.question is None if question is None else question in str(key.question)


def test_create_after_another_kind_of_change_is_of_no_copy(tmp_path: Path) -> None:
    row = {"id": 1, "x": "a"}
    events = [event("c", {"id": 2, "x": "a"}, lsn=9), *(event(op, row, lsn=10) for op in "cdc")]
    assert inspected(tmp_path, events).key.question is None


def test_rows_of_a_snapshot_are_no_deliveries_of_one(tmp_path: Path) -> None:
    rows = [event("r", {"id": 1, "x": "a"}, lsn=10)] * 2
    assert inspected(tmp_path, rows).key.columns == ()


def test_equal_rows_in_two_partitions_may_be_two(tmp_path: Path) -> None:
    row = {"id": 1, "x": "a"}
    inspected(tmp_path, [event("c", row, lsn=10), event("c", {"id": 2, "x": "a"}, lsn=11)])
    (tmp_path / "shop.public.orders+1+0.json").write_text(json.dumps(event("c", row, lsn=10)), encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    assert entity.key.candidates == (("id",),)
    assert "COPY" in str(entity.key.question)
