"""Defaults of added columns, as they are written into `meta.cdc.default`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.defaults import default_by_declaration, default_by_schema
from alluvium.inspection.schemas import from_avro, from_connect
from alluvium.inspection.types import ProposedType, propose_from_schema

if TYPE_CHECKING:
    from pathlib import Path

DECIMAL = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}


@pytest.mark.parametrize(
    ("type_", "name", "sent", "written"),
    [
        ("int32", None, 5, 5),
        ("int64", None, 2**40, 2**40),
        ("boolean", None, True, "true"),
        ("double", None, 1.5, "1.5"),
        ("string", None, "new", "new"),
        ("string", None, "", ""),
        ("int32", "io.debezium.time.Date", 19844, "2024-05-01"),
        ("string", "io.debezium.time.IsoDate", "2024-05-01Z", "2024-05-01"),
        ("int64", "io.debezium.time.Timestamp", 1_714_564_800_123, "2024-05-01 12:00:00.123000"),
        ("int64", "io.debezium.time.MicroTimestamp", 1_714_564_800_000_000, "2024-05-01 12:00:00"),
        ("int64", "io.debezium.time.NanoTimestamp", 1_714_564_800_000_000_001, None),
        ("int64", "org.apache.kafka.connect.data.Timestamp", 1_714_564_800_000, "2024-05-01 12:00:00"),
        ("string", "io.debezium.time.ZonedTimestamp", "2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        ("int64", "io.debezium.time.MicroTime", 36_000_000_000, "10:00:00.000000"),
        # What a database computes for each row, a connector sends as the beginning of 1970.
        ("int64", "io.debezium.time.MicroTimestamp", 0, None),
        ("string", "io.debezium.time.ZonedTimestamp", "1970-01-01T00:00:00Z", None),
        ("int32", "io.debezium.time.Date", 0, None),
        # As a text it would not say whether it is base64.
        ("bytes", None, "YWI=", None),
        ("struct", "io.debezium.data.VariableScaleDecimal", {"scale": 1, "value": "Dw=="}, "1.5"),
    ],
)
def test_default_of_a_schema(type_: str, name: str | None, sent: Any, written: Any) -> None:
    schema = from_connect({"type": type_, "name": name, "default": sent})
    assert default_by_schema(schema, propose_from_schema(schema)) == written


def test_default_of_a_decimal_in_json_and_in_avro() -> None:
    decimal = from_connect({"type": "bytes", "default": "AJY=", **DECIMAL})
    assert default_by_schema(decimal, propose_from_schema(decimal)) == "1.50"
    column = {
        "type": "bytes",
        "connect.name": DECIMAL["name"],
        "connect.parameters": DECIMAL["parameters"],
        "connect.default": "\x00\x96",
    }
    (field,) = from_avro({"type": "record", "name": "r", "fields": [{"name": "x", "type": column}]}).fields.values()
    assert default_by_schema(field, propose_from_schema(field)) == "1.50"


@pytest.mark.parametrize(
    ("data_type", "semantic_type", "sent", "written"),
    [
        ("date", None, "2024-05-01", "2024-05-01"),
        ("date", None, "0000-00-00", None),
        ("timestamp_ntz", None, "2024-05-01 12:00:00", "2024-05-01 12:00:00"),
        ("timestamp_ntz", None, "CURRENT_TIMESTAMP", None),
        ("timestamp_ntz", None, "1970-01-01 00:00:00", None),
        ("timestamp", None, "2024-05-01 12:00:00", None),
        ("decimal(10,2)", None, "1.50", "1.50"),
        ("decimal(10,0)", None, "1.50", None),
        ("decimal(10,1)", None, "1.50", "1.50"),
        ("double", None, "1.55", "1.55"),
        ("int", None, "1.5", None),
        ("int", None, "7", "7"),
        ("int", None, "(1 + 1)", None),
        ("boolean", None, "b'1'", "true"),
        ("string", None, "new", "new"),
        ("string", None, "uuid()", None),
        ("string", "io.debezium.time.MicroTime", "10:00:00.5", "10:00:00.500000"),
        ("binary", None, "x", None),
    ],
)
def test_default_of_a_schema_change(data_type: str, semantic_type: str | None, sent: str, written: str | None) -> None:
    assert default_by_declaration(sent, ProposedType(data_type, "", semantic_type)) == written


def test_default_that_cannot_be_written_is_asked_about(tmp_path: Path) -> None:
    array = {"type": "array", "items": {"type": "string"}, "optional": True, "default": ["a"], "field": "tags"}
    number = {"type": "int32", "field": "id"}
    lines = [
        {"schema": {"type": "struct", "fields": fields}, "payload": {"id": no, "tags": ["b"]}}
        for no, fields in enumerate(([number], [number, array]))
    ]
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    tags = entity.columns[1]
    assert tags.added_default is None
    assert "a default that cannot be taken over (['a'])" in str(tags.type.question)
    assert tags.type.question in entity.questions
