"""Columns that say what has happened to their row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alluvium.inspection import Entity, inspect
from alluvium.scaffolding.feeds import feeds_of

if TYPE_CHECKING:
    from pathlib import Path


def inspected(folder: Path, *rows: dict[str, Any]) -> Entity:
    (folder / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return inspect(str(folder)).entities[0]


@pytest.mark.parametrize(
    ("name", "values", "condition"),
    [
        ("Op", ["I", "D"], "Op = 'D'"),
        ("Op", ["I", None], "Op = 'D'"),
        ("kind", ["c", "u"], "kind = 'd'"),
        ("change_operation", ["INSERT"], "change_operation = 'DELETE'"),
        ("is_deleted", [False], "is_deleted"),
        ("_deleted", [0, 1], "_deleted = 1"),
        ("deleted", ["false"], "deleted = 'true'"),
        # One letter is no sign of an operation, nor are others beside it; a time may be called so, too.
        ("grade", ["D", "D"], None),
        ("grade", ["D", "I", "E"], None),
        ("Op", ["open"], None),
        ("deleted_by", ["me"], None),
    ],
)
def test_column_that_says_the_operation_is_asked_about(
    tmp_path: Path, name: str, values: list[Any], condition: str | None
) -> None:
    entity = inspected(tmp_path, *({"id": no, name: value} for no, value in enumerate(values)))
    assert entity.operation_columns == ((name,) if condition else ())
    assert any(f"apply_as_deletes: {condition};" in question for question in entity.questions) is bool(condition)
    if condition:
        assert "data_type" not in feeds_of(inspect(str(tmp_path)))[0].columns[name]


def test_fields_added_under_another_prefix_are_asked_about(tmp_path: Path) -> None:
    entity = inspected(tmp_path, {"id": 1, "__deleted": "false", "cdc_op": "c"})
    assert (entity.shape, entity.operation_columns) == ("flattened", ("cdc_op",))
    assert any("add_fields_prefix" in question for question in entity.questions)


@pytest.mark.parametrize(("metadata", "connector"), [(None, "table"), ("org.apache.kafka.connect.data.Date", "jdbc")])
def test_rows_are_of_kafka_connect_where_its_types_are_named(
    tmp_path: Path, metadata: str | None, connector: str
) -> None:
    table = pa.table({"Op": ["I", "D"], "id": [1, 2], "day": pa.array([1, 2], pa.int32())})
    if metadata:
        day = {"name": "day", "type": {"type": "int", "connect.name": metadata}}
        record = {"type": "record", "name": "r", "fields": [{"name": name, "type": "long"} for name in ("Op", "id")]}
        record["fields"] = [*record["fields"], day]
        table = table.replace_schema_metadata({"parquet.avro.schema": json.dumps(record)})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert feeds_of(inspect(str(tmp_path)))[0].options["connector"] == connector
