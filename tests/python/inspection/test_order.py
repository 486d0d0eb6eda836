from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.order import has_position, propose_order


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"op", "lsn"}, True),
        ({"sequence"}, True),
        ({"file", "pos", "row"}, True),
        ({"pos"}, False),
        ({"op", "ts_ms"}, False),
        ({"ts_ms", "ord"}, True),
        ({"commit_scn", "scn"}, True),
        ({"commit_lsn"}, False),
    ],
)
def test_position(fields: set[str], expected: bool) -> None:
    assert has_position(fields) is expected


def test_position_of_the_connector_goes_first() -> None:
    for shape, fields in (("envelope", set()), ("flattened", {"lsn"})):
        order = propose_order(shape, fields, 0, has_message_keys=False, times=())
        assert (order.is_by_offset, order.question) == (False, None)


@pytest.mark.parametrize(
    ("partitions", "has_message_keys", "by_offset"), [(1, False, True), (3, True, True), (3, False, False)]
)
def test_offsets_order_where_a_key_has_one_partition(partitions: int, has_message_keys: bool, by_offset: bool) -> None:
    order = propose_order("row", (), partitions, has_message_keys=has_message_keys, times=["changed_at"])
    assert order.is_by_offset is by_offset
    assert (order.question is None) is by_offset
    assert by_offset or "one of 3 partitions (order_by: offset)? If not, sequence_by: [changed_at]" in str(
        order.question
    )


def test_offsets_of_folders_by_a_column_are_asked_about(tmp_path: Path) -> None:
    """FieldPartitioner: of a row that moved and moved back, the older change may lie in the file of the later name."""
    for country, name in (("Peru", "t+0+0.json"), ("Chile", "t+0+1.json"), ("Peru", "t+0+2.json")):
        (tmp_path / f"country={country}").mkdir(exist_ok=True)
        landed(tmp_path / f"country={country}", name, {"id": 1, "country": country})
    (entity,) = inspect(str(tmp_path)).entities
    assert not entity.order.is_by_offset
    assert "does a row ever move to another folder (country)? If not, order_by: offset." in str(entity.order.question)
    assert entity.folders_by == ("country",)
    for folder in tmp_path.iterdir():
        folder.rename(tmp_path / folder.name.replace("country", "day"))
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.order.is_by_offset, entity.folders_by) == (True, ())


def test_nothing_orders() -> None:
    asked = propose_order("flattened", {"op"}, 0, has_message_keys=False, times=()).question
    assert asked == "what orders the changes of a row: the position in add.fields?"


def test_partitions_are_those_of_the_names(tmp_path: Path) -> None:
    """Also those whose objects are not read."""
    landed(tmp_path, "t+0+0.json", {"id": 1})
    landed(tmp_path, "t+1+0.json", {"id": 2})
    (entity,) = inspect(str(tmp_path)).entities
    assert entity.order.question is not None
    assert entity.order.question in entity.questions
    (tmp_path / "t+1+0.json").unlink()
    assert inspect(str(tmp_path)).entities[0].order.is_by_offset


def test_records_of_two_shapes_and_names_that_differ_in_case_are_asked_about(tmp_path: Path) -> None:
    landed(tmp_path, "t+0+0.json", {"id": 1, "Note": "a", "note": "b"}, {"id": 1, "__deleted": "false", "__lsn": 1})
    (entity,) = inspect(str(tmp_path)).entities
    questions = " ".join(entity.questions)
    assert "1 are of shape row and 1 are of shape flattened" in questions
    assert "which of Note, note shall be read?" in questions


def test_record_that_was_copied_is_no_second_row(tmp_path: Path) -> None:
    """Two files with the same offsets have one event twice, and not two rows with one key."""
    source = {"connector": "postgresql", "lsn": 1, "txId": 1}
    events = [{"before": None, "after": {"id": no, "x": "a"}, "source": source, "op": "c"} for no in range(4)]
    landed(tmp_path, "t+0+0.json", *events)
    landed(tmp_path, "t+0+2.json", *events[2:])
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.key.columns, entity.key.question) == (("id",), None)


def landed(folder: Path, name: str, *values: dict[str, Any]) -> None:
    (folder / name).write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
