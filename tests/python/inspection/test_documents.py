"""MongoDB's documents: what Extended JSON says of a value, and what the connector leaves out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import Entity, inspect
from alluvium.scaffolding.feeds import feeds_of

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = {"connector": "mongodb", "db": "app", "collection": "items", "ts_ms": 1_714_564_800_000, "ord": 1}


def change(op: str, after: Any = None, before: Any = None, **more: Any) -> dict[str, Any]:
    images = [None if document is None else json.dumps(document) for document in (before, after)]
    return {"before": images[0], "after": images[1], "source": SOURCE, "op": op, **more}


def landed(folder: Path, *records: Any) -> Path:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    (folder / "m.app.items+0+0.json").write_text(text, encoding="utf-8")
    return folder


def found(folder: Path, *records: Any) -> Entity:
    return inspect(str(landed(folder, *records))).entities[0]


@pytest.mark.parametrize(
    ("value", "data_type", "semantic_type"),
    [
        (12.5, "double", None),
        ({"$numberDouble": "NaN"}, "double", None),
        ({"$numberInt": "5"}, "bigint", None),
        ({"$numberLong": "5"}, "bigint", None),
        ({"$oid": "65f0c1e2a3b4c5d6e7f80001"}, "string", None),
        ({"$oid": "650000000000000000000001"}, "string", None),
        ({"$date": 1_714_564_800_000}, "timestamp", None),
        ({"$date": {"$numberLong": "-62135596800001"}}, "timestamp", None),
        ({"$date": "2024-05-01T00:00:00Z"}, "timestamp", "io.debezium.time.ZonedTimestamp"),
        ("2024-05-01T00:00:00Z", "timestamp", "io.debezium.time.ZonedTimestamp"),
        ({"$binary": "AQID", "$type": "00"}, "binary", None),
        ({"$binary": {"base64": "AQID", "subType": "00"}}, "binary", None),
        # Decimals and bytes are wrapped, so these are texts.
        ("AeJA", "string", None),
        ("12.50", "string", None),
        # What the macros do not unwrap either.
        ({"$timestamp": {"t": 1, "i": 1}}, "string", None),
        ({"$date": [1]}, "string", None),
        ({"city": "Utica", "$date": 1}, "string", None),
        ({}, "string", None),
    ],
)
def test_wrapped_value_says_its_type(tmp_path: Path, value: Any, data_type: str, semantic_type: str | None) -> None:
    entity = found(tmp_path, *(change("c", {"_id": number, "x": value}) for number in range(3)))
    proposed = entity.columns[1].type
    assert (entity.records.errors, entity.records.changes) == ([], 3)
    assert (proposed.data_type, proposed.semantic_type, proposed.question) == (data_type, semantic_type, None)


def test_scale_of_a_decimal_is_asked_for(tmp_path: Path) -> None:
    landed(tmp_path, change("c", {"_id": "1234", "code": "AeJA"}))
    (feed,) = feeds_of(inspect(str(tmp_path)))
    assert (feed.questions, feed.options.get("decimal_handling_mode")) == ((), None)
    landed(tmp_path, change("c", {"_id": "1234", "price": {"$numberDecimal": "12"}, "code": "AeJA"}))
    (feed,) = feeds_of(inspect(str(tmp_path)))
    assert feed.options["decimal_handling_mode"] == "string"
    assert "price has numbers as texts: is it a decimal, and of which scale?" in feed.questions


def test_times_in_two_forms_are_asked_about(tmp_path: Path) -> None:
    times = [{"$date": "2024-05-01T00:00:00Z"}, {"$date": {"$numberLong": "253402300800000"}}]
    entity = found(tmp_path, *(change("c", {"_id": number, "x": time}) for number, time in enumerate(times)))
    assert "x has times as numbers and as texts" in str(entity.columns[1].type.question)


def test_number_that_may_be_a_time_is_a_point_in_time(tmp_path: Path) -> None:
    wrapped = {"$numberLong": "1714564800000"}
    proposed = found(tmp_path, change("c", {"_id": 1, "created_at": wrapped})).columns[1].type
    assert (proposed.data_type, proposed.semantic_type) == ("timestamp", "io.debezium.time.Timestamp")
    assert "does it count milliseconds since 1970?" in str(proposed.question)


def test_key_is_the_id_whatever_deletes_say(tmp_path: Path) -> None:
    documents = [{"_id": number, "item_id": number} for number in range(3)]
    key = found(tmp_path, *(change("c", document) for document in documents), change("d")).key
    assert (key.columns, key.question) == (("_id",), None)


def test_what_names_no_document_and_what_has_none_is_counted(tmp_path: Path) -> None:
    partial = change("u", updateDescription={"updatedFields": "{}"})
    records = [change("d"), change("d", before={"_id": 1}), partial, change("u", {"_id": 1})]
    entity = found(tmp_path, *records)
    assert (entity.operations.deletes_without_image, entity.operations.partial_updates) == (1, 1)
    stored = {"key": {"id": "1"}, "value": change("d"), "headers": {}, "metadata": {"offset": 0, "partition": 0}}
    assert found(tmp_path, stored).operations.deletes_without_image == 0
