from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.order import propose_order
from alluvium.inspection.positions import has_position, position_of


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
    for shape in ("envelope", "flattened"):
        order = propose_order(shape, None, 0, has_message_keys=False, times=())
        assert (order.is_by_offset, order.question) == (False, None)


LSN = "00000027:00000ab8:0002"
MONGODB = {"connector": "mongodb", "ts_ms": 1_767_225_600_000, "ord": 1}


@pytest.mark.parametrize(
    ("op", "source", "expected"),
    [
        ("c", {"connector": "postgresql", "lsn": 7}, ("7", "7")),
        ("c", {"connector": "postgresql", "lsn": 7, "sequence": '["5","7"]'}, ("5", "7")),
        ("r", {"connector": "postgresql", "lsn": None, "sequence": '[null,"7"]'}, ("7", "0")),
        ("c", {"connector": "postgresql", "lsn": 0}, None),
        ("c", {"connector": "mysql", "file": "b.000010", "pos": 4}, ("000010", "4", "0")),
        ("c", {"connector": "mysql", "file": "b.000010", "pos": 4, "row": "x"}, None),
        ("c", {"connector": "mysql", "file": "", "pos": 0, "row": 0}, None),
        ("c", {"connector": "MariaDB", "file": None, "pos": 4, "row": 0}, None),
        ("u", {"connector": "sqlserver", "commit_lsn": LSN, "change_lsn": None}, None),
        ("r", {"connector": "sqlserver", "commit_lsn": LSN, "change_lsn": None}, (LSN, f"{0:08}:{0:08}:0000", "0")),
        ("r", {"connector": "oracle", "scn": "5", "commit_scn": None}, ("5", "0", "0", "0", "0")),
        (
            "u",
            {"connector": "oracle", "scn": "5", "commit_scn": "6", "rs_id": " 0x00000A.00000001.0010 ", "ssn": 1},
            ("6", "5", "00000a000000010010", "1", "0"),
        ),
        ("u", {"connector": "oracle", "scn": "5", "commit_scn": None}, None),
        ("u", MONGODB, ("1767225600", "1")),
        ("r", {**MONGODB, "ts_ms": 1_767_225_600_208, "ord": -1}, None),
        ("r", {**MONGODB, "ord": -1}, None),
        ("u", {**MONGODB, "wallTime": 1_767_225_600_000}, None),
        ("u", {**MONGODB, "wallTime": 1_767_225_600_000, "version": "3.3.1.Final"}, ("1767225600", "1")),
        ("u", {**MONGODB, "wallTime": 1_767_225_600_007, "version": "3.6.3.Final"}, ("1767225600", "1")),
        ("u", {"connector": "db2", "commit_lsn": "1", "change_lsn": "1"}, None),
        ("u", {"connector": "unheard of", "lsn": 7}, None),
        ("u", {}, None),
    ],
)
def test_position_is_that_of_the_decoder(op: str, source: dict[str, Any], expected: tuple[str, ...] | None) -> None:
    assert position_of(op, source) == expected


def envelope(number: int, **source: Any) -> dict[str, Any]:
    return {"before": None, "after": {"id": number, "x": "a"}, "op": "c", "source": {"table": "t", **source}}


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ([{"connector": "mysql", "file": "", "pos": 0}], "1 of 1 changes have no position (file is empty)"),
        (
            [{"connector": "mysql", "file": "b.1", "pos": 4}, {"connector": "mysql", "file": "b.1", "pos": None}],
            "1 of 2 changes have no position (pos is null)",
        ),
        ([{"connector": "TiCDC", "file": "", "pos": 0}], "(positions of the connector TiCDC are not read)"),
        ([{"db": "shop"}], "(no connector is named; it is declared as `other`)"),
    ],
)
def test_changes_without_a_position_are_ordered_by_offset(
    tmp_path: Path, sources: list[dict[str, Any]], said: str
) -> None:
    events = [envelope(number, **source) for number, source in enumerate(sources)]
    landed(tmp_path, "t+0+0.json", *events)
    (entity,) = inspect(str(tmp_path)).entities
    assert entity.order.is_by_offset
    assert entity.order.why.startswith("the offsets: ")
    assert said in entity.order.why
    landed(tmp_path, "t+1+0.json", *events)
    (entity,) = inspect(str(tmp_path)).entities
    assert not entity.order.is_by_offset
    assert "are all changes of a row in one of 2 partitions (order_by: offset)? If not, order_by: position" in str(
        entity.order.question
    )


def test_own_clock_of_a_connector_is_no_position(tmp_path: Path) -> None:
    row = {"_id": "a", "__op": "c", "__ord": 1, "__deleted": "false"}
    landed(tmp_path, "t+0+0.json", {**row, "__ts_ms": 1_767_225_601_000})
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.source.connector, entity.order.is_by_offset) == ("mongodb", True)
    assert "ts_ms is missing" in entity.order.why
    landed(tmp_path, "t+0+0.json", {**row, "__source_ts_ms": 1_767_225_601_000})
    assert not inspect(str(tmp_path)).entities[0].order.is_by_offset


@pytest.mark.parametrize(
    ("partitions", "has_message_keys", "by_offset"), [(1, False, True), (3, True, True), (3, False, False)]
)
def test_offsets_order_where_a_key_has_one_partition(partitions: int, has_message_keys: bool, by_offset: bool) -> None:
    order = propose_order("row", None, partitions, has_message_keys=has_message_keys, times=["changed_at"])
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
    assert entity.files.folder_columns == ("country",)
    for folder in tmp_path.iterdir():
        folder.rename(tmp_path / folder.name.replace("country", "day"))
    (entity,) = inspect(str(tmp_path)).entities
    assert (entity.order.is_by_offset, entity.files.folder_columns) == (True, ())


def test_nothing_orders() -> None:
    asked = propose_order("flattened", "no position", 0, has_message_keys=False, times=()).question
    assert asked == "no position: what orders the changes of a row: the position in add.fields?"


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
