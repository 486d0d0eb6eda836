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
        # By name and values both, whatever way it is said.
        ("is_delete", [False, True], "is_delete"),
        ("isDeleted", ["N", "Y"], "isDeleted = 'Y'"),
        ("deletion_flag", ["", "X"], "deletion_flag = 'X'"),
        ("del_flag", ["0"], "del_flag = '1'"),
        ("is_removed", [0], "is_removed = 1"),
        ("deleted_at", [None], "deleted_at is not null"),
        ("deletedAt", [None, "2026-01-01T00:00:00Z"], "deletedAt is not null"),
        ("removal_date", [None, 1], "removal_date is not null"),
        ("event_type", ["created", "updated", "deleted"], "event_type = 'deleted'"),
        ("action", ["ADD", "REMOVE"], "action = 'REMOVE'"),
        ("kind", ["+I", "-D"], "kind = '-D'"),
        ("dml_type", ["I", "B", "U"], "dml_type = 'D'"),
        ("operation", ["INSERT", "SQL COMPUPDATE", "DELETE"], "operation = 'DELETE'"),
        ("status", ["active", "deleted"], "status = 'deleted'"),
        ("operation", [1, 2, 3], "operation = (its value for deletes)"),
        ("op_code", [10, 20, 30], "op_code = (its value for deletes)"),
        ("rec_type", ["I", "U", "X"], "rec_type = (its value for deletes)"),
        ("rec_type", ["I", "U"], "rec_type = 'D'"),
        ("action", ["add", "change"], "action = (its value for deletes)"),
        ("image", ["BEFORE", "AFTER"], "image = (its value for deletes)"),
        # Of known tools, whether their deletes were seen or not.
        ("_change_type", ["insert"], "_change_type = 'delete'"),
        ("_CHANGE_TYPE", ["INSERT", "DELETE"], "_CHANGE_TYPE = 'DELETE'"),
        ("SYS_CHANGE_OPERATION", ["I"], "SYS_CHANGE_OPERATION = 'D'"),
        ("METADATA$ACTION", ["INSERT"], "\"`METADATA$ACTION` = 'DELETE' and not `METADATA$ISUPDATE`\""),
        ("_ab_cdc_deleted_at", [None], "_ab_cdc_deleted_at is not null"),
        ("_fivetran_deleted", [False], "_fivetran_deleted"),
        ("hvr_op", [1, 2], "hvr_op in (0, 8)"),
        ("hvr_op", ["1", "4"], "hvr_op in ('0', '8')"),
        ("RECORDMODE", ["", "D"], "RECORDMODE in ('D', 'R')"),
        ("mz_diff", [1, -1], "mz_diff = -1"),
        # Padded, cased, composed, or beside words that nobody knows.
        ("dml_type", ["I ", "D "], "dml_type = 'D '"),
        ("operation", ["Row Insert", "Row Delete"], "operation = 'Row Delete'"),
        ("event_type", ["INSERT_ROWS", "DELETE_ROWS"], "event_type = 'DELETE_ROWS'"),
        ("eventName", ["ItemCreated", "ItemDeleted"], "eventName = 'ItemDeleted'"),
        ("change_type", ["New", "Changed", "Gone"], "change_type = (its value for deletes)"),
        ("dml", ["ins", "rmv"], "dml = (its value for deletes)"),
        ("is_deleted", ["D", None], "is_deleted = (its value for deletes)"),
        ("is_deleted", [None], "is_deleted = (its value for deletes)"),
        ("geloescht_flag", ["J", "N"], None),
        ("DELETE_FLG", ["0", "1"], "DELETE_FLG = '1'"),
        ("deleted", ["FALSE", "true"], "lower(deleted) = 'true'"),
        ("deleted_at", [0, 1767225600], "deleted_at > 0"),
        ("note", ["it was deleted by me"], None),
        # No operations.
        ("status", ["new", "paid"], None),
        ("status", ["created", "updated"], None),
        ("type", ["C", "D"], None),
        ("size", ["S", "M", "L"], None),
        ("operation", [100, 2], None),
        ("event_code", [10, 42], None),
        ("code", ["I", "U", "X", "Z"], None),
        ("operations", ["add"], None),
        ("delete_after_days", [30], None),
        ("undeleted", [True], None),
        ("is_active", [True, False], None),
    ],
)
def test_column_that_says_the_operation_is_asked_about(
    tmp_path: Path, name: str, values: list[Any], condition: str | None
) -> None:
    entity = inspected(tmp_path, *({"id": no, name: value} for no, value in enumerate(values)))
    assert entity.operations.columns == ((name,) if condition else ())
    assert any(f"apply_as_deletes: {condition};" in question for question in entity.questions) is bool(condition)
    if condition:
        assert "data_type" not in feeds_of(inspect(str(tmp_path)))[0].columns[name]


@pytest.mark.parametrize(
    ("name", "values", "condition"),
    [
        ("header__change_oper", ["I"], "header__change_oper = 'B'"),
        ("__$operation", [2, 4], '"`__$operation` = 3"'),
        ("dml_type", ["I", "B", "U"], "dml_type = 'B'"),
        ("op", ["insert", "update_before", "delete"], "op = 'update_before'"),
        ("Op", ["I", "U"], None),
    ],
)
def test_images_of_before_an_update_are_asked_about(
    tmp_path: Path, name: str, values: list[Any], condition: str | None
) -> None:
    entity = inspected(tmp_path, *({"id": no, name: value} for no, value in enumerate(values)))
    said = [question for question in entity.questions if f"does {name}" in question]
    assert [f"ignore_rows: {condition} for" in question for question in said] == [condition is not None]


def test_deletes_that_the_records_say_are_not_asked_about(tmp_path: Path) -> None:
    """Of an application that marks rows itself: Debezium sends its updates, and the table's deletes beside them."""
    entity = inspected(tmp_path, {"id": 1, "__deleted": "false", "deleted_at": None, "status": "deleted"})
    assert (entity.shape, entity.operations.columns) == ("flattened", ())


def test_fields_added_under_another_prefix_are_asked_about(tmp_path: Path) -> None:
    entity = inspected(tmp_path, {"id": 1, "__deleted": "false", "cdc_op": "c"})
    assert (entity.shape, entity.operations.columns) == ("flattened", ("cdc_op",))
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


@pytest.mark.parametrize(
    ("added", "order"),
    [
        ({"_airbyte_raw_id": "r", "_airbyte_extracted_at": "2026-01-01T00:00:00Z", "_ab_cdc_lsn": 10}, "_ab_cdc_lsn"),
        ({"_fivetran_id": "f", "_fivetran_synced": "2026-01-01T00:00:00Z"}, "..."),
        ({"_fivetran_id": "f", "_fivetran_synced": "2026-01-01T00:00:00Z", "at": "2026-01-01T00:00:00Z"}, "at"),
    ],
)
def test_columns_of_a_tool_tell_its_events_apart_and_no_rows(tmp_path: Path, added: dict[str, Any], order: str) -> None:
    rows = [
        {"id": number % 3, "name": "x"}
        | {name: f"{value}{number}" if len(str(value)) == 1 else value for name, value in added.items()}
        for number in range(5)
    ]
    entity = inspected(tmp_path, *rows)
    assert not any(name.startswith(("_airbyte", "_ab", "_fivetran")) for key in entity.key.candidates for name in key)
    assert f"sequence_by: [{order}]" in str(entity.order.question)
