"""Rows as Kafka Connect's JDBC source and AWS DMS write them, documents of MongoDB, LOBs of Oracle, declared clocks."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .events import NOON_MS, Event, flattened, lines, of_connector, unscaled, with_schema
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

MARK = "__debezium_unavailable_value"
JDBC_TYPES = {
    "id": "int64",
    "price": {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    "updated_at": {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
    "made_on": {"type": "int32", "name": "org.apache.kafka.connect.data.Date"},
}


def jdbc(key: int, cents: int, millisecond: int) -> Event:
    """A row of the JDBC source, with its schema."""
    row = {"id": key, "price": unscaled(cents), "updated_at": NOON_MS + millisecond, "made_on": 19_844}
    return with_schema(row, JDBC_TYPES)


def moment(second: int) -> dt.datetime:
    return dt.datetime(2024, 5, 1, 12, 0, second, 1)


def parquet(*rows: dict[str, Any]) -> bytes:
    """A Parquet file of DMS: decimals, timestamps without a zone, and the operation where it is given."""
    fields = {
        "Op": pa.string(),
        "id": pa.int32(),
        "price": pa.decimal128(12, 2),
        "changed_at": pa.timestamp("us"),
        "change_seq": pa.decimal128(35, 0),
        "whole": pa.decimal128(38, 10),
        "payload": pa.struct({"price": pa.float64()}),
    }
    given = {name: type_ for name, type_ in fields.items() if any(name in row for row in rows)}
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=pa.schema(given)), file)
    return file.getvalue()


def dms(operation: str | None, key: int, price: str | None, second: int, sequence: int) -> dict[str, Any]:
    """A row of DMS; without an operation one of a full load."""
    row = {
        "id": key,
        "price": Decimal(price) if price else None,
        "changed_at": moment(second),
        "change_seq": Decimal(2024_0501_1200_0000_0000_0000_0000_0000_000 + sequence),
    }
    return ({"Op": operation} if operation else {}) | row


def clocked(status: str, source_second: int, ingested_second: int) -> Event:
    return {
        "id": 42,
        "status": status,
        "source_second": source_second,
        "ingested_at": f"2024-05-01 12:{ingested_second:02}:00",
    }


def lob(op: str, scn: int, body: str, *, key: int = 1, before: str | None = None) -> Event:
    event = of_connector(
        "oracle", op, {"id": key, "body": body}, scn=str(scn), commit_scn=str(scn + 1), rs_id="0x1.2.3", ssn=0
    )
    return event | ({"before": {"id": key, "body": before}} if before else {})


def document(op: str, order: int, fields: Event | None, key: str | None = None) -> Event:
    """A record of the store envelope with a document of MongoDB in it; `key` is the document's `_id` as JSON."""
    event = of_connector("mongodb", op, None, ts_ms=1_714_564_800_000, ord=order, version="3.3.1.Final")
    image = None if fields is None else json.dumps(fields)
    event |= {"after": None if op == "d" else image, "before": image if op == "d" else None}
    metadata = {"topic": "t", "partition": 0, "offset": order, "timestamp": NOON_MS}
    return {"key": {"id": key}, "value": event, "headers": {}, "metadata": metadata}


OID = {"$oid": "596e275826f08b2730779e1f"}
DOCUMENT: Event = {
    "_id": OID,
    "count": {"$numberLong": "9007199254740993"},
    "price": {"$numberDecimal": "12345678901234567890.10"},
    "seen_at": {"$date": 1_714_564_800_123},
    "ratio": 1.5,
    "picture": {"$binary": "AAEC", "$type": "00"},
    "address": {"city": "Antalya", "since": {"$date": 1}},
    "note": None,
}
EXTENDED: Event = DOCUMENT | {
    "count": {"$numberInt": "7"},
    "seen_at": {"$date": {"$numberLong": "-1"}},
    "ratio": {"$numberDouble": "NaN"},
    "picture": {"$binary": {"base64": "AAEC", "subType": "00"}},
    "note": "x",
}

FEEDS = [
    Feed(
        "rows_of_jdbc",
        {"id": "bigint", "price": "decimal(9,2)", "updated_at": "timestamp", "made_on": "date"},
        [
            {"t+0+0.json": lines(jdbc(1, 100, 5), jdbc(2, -1, 5), jdbc(1, 250, 6))},
            # A poll that saw a row that was committed late, and one of the first again.
            {"t+0+3.json": lines(jdbc(1, 200, 5), jdbc(2, -2, 7), jdbc(1, 100, 5))},
        ],
        cdc={"connector": "jdbc", "shape": "row", "order_by": ["updated_at", "id"]},
        models=("log", "state", "living"),
    ),
    Feed(
        "rows_of_dms",
        {
            "Op": "string",
            "id": "int",
            "price": "decimal(12,2)",
            "changed_at": "timestamp_ntz",
            "change_seq": "decimal(35,0)",
            "whole": "decimal(38,0)",
            "payload": "string",
        },
        [
            {"LOAD00000001.parquet": parquet(*(dms(None, key, "1.00", 0, 0) for key in (1, 2, 3)))},
            {
                "20240501-120005.parquet": parquet(
                    dms("U", 1, "2.50", 5, 2),
                    dms("U", 1, "2.00", 5, 1),
                    dms("D", 2, None, 5, 3),
                    dms("I", 4, "-7.25", 6, 4),
                    dms("I", 5, "1.50", 7, 5) | {"whole": Decimal("9" * 28), "payload": {"price": 99.25}},
                    dms("I", 6, "1.50", 7, 6) | {"whole": Decimal("1.5")},
                )
            },
            {"20240501-120004.parquet": parquet(dms("U", 2, "9.99", 4, 0), dms("U", 3, None, 4, 1))},
        ],
        using="parquet",
        cdc={
            "connector": "table",
            "shape": "row",
            "sequence_by": ["changed_at", "change_seq"],
            "apply_as_deletes": "Op = 'D'",
            "except_column_list": ["Op", "change_seq"],
            "ignore_null_updates_column_list": ["price"],
        },
        models=("log", "state"),
    ),
    Feed(
        "rows_by_arrival",
        {"id": "int", "status": "string", "source_second": "int", "ingested_at": "timestamp_ntz"},
        [{"part-1.json": lines(clocked("SUSPENDED", 300, 6), clocked("ACTIVE", 0, 10))}],
        cdc={"connector": "table", "shape": "row", "sequence_by": "ingested_at"},
        models=("log", "state"),
    ),
    Feed(
        "oracle_lobs",
        {"id": "int", "body": "string"},
        [
            {"t+0+0.json": lines(lob("c", 10, "long"), lob("u", 20, MARK, before=MARK))},
            {"t+0+2.json": lines(lob("d", 30, MARK), lob("c", 30, MARK, key=2))},
        ],
        cdc={"connector": "oracle"},
        models=("log", "state"),
    ),
    Feed(
        "mongodb_documents",
        {
            "_id": "string",
            "count": "bigint",
            "price": "decimal(38,2)",
            "seen_at": "timestamp",
            "ratio": "double",
            "picture": "binary",
            "address": "string",
            "note": "string",
        },
        [
            {
                "t(0_9).json": lines(
                    document("c", 1, DOCUMENT, json.dumps(OID)),
                    document("u", 2, EXTENDED | {"_id": "plain"}, '"plain"'),
                    document("c", 3, {"_id": "gone", "count": 1}, '"gone"'),
                    document("d", 4, None, '"gone"'),
                    document("c", 5, {"_id": {"$oid": "0" * 24}}),
                    document("d", 6, {"_id": {"$oid": "0" * 24}, "count": 1}),
                    document("d", 7, None),
                )
            }
        ],
        key=("_id",),
        cdc={"connector": "mongodb", "store_envelope": True, "layout": "lenses"},
        models=("log", "state"),
    ),
    Feed(
        "by_clock",
        {"id": "int", "note": "string"},
        [
            {
                "t+0+0.json": lines(
                    flattened("u", None, {"id": 1, "note": "new"}, __source_ts_ms=NOON_MS + 1000),
                    flattened("u", None, {"id": 1, "note": "old"}, __source_ts_ms=NOON_MS + 999),
                    flattened("u", None, {"id": 1, "note": "no clock"}, __ts_ms=NOON_MS),
                    flattened("u", None, {"id": 1, "note": "no time"}),
                )
            }
        ],
        cdc={"shape": "flattened", "order_by": "timestamp"},
        models=("log", "state"),
    ),
    Feed(
        "rows_by_last_offset",
        {"id": "int", "note": "string"},
        [
            {"t(0_9).json": lines({"id": 1, "note": "9"})},
            {"t(0_8).json": lines({"id": 1, "note": "7"}, {"id": 1, "note": "8"})},
        ],
        cdc={"connector": "table", "shape": "row", "order_by": "offset", "layout": "lenses"},
        models=("log", "state"),
    ),
]


def by_id(project: Project, feed: str, key: str = "id") -> dict[Any, Row]:
    return {row[key]: row for row in project.state(feed)}


def test_rows_of_the_jdbc_source_are_in_the_order_of_their_columns(project: Project) -> None:
    found = by_id(project, "rows_of_jdbc")
    assert {key: str(row["price"]) for key, row in found.items()} == {1: "2.50", 2: "-0.02"}
    assert (found[1]["updated_at"], found[1]["made_on"]) == ("2024-05-01 12:00:00.006", "2024-05-01")
    assert [row["_cdc_source_ts"] for row in project.living("rows_of_jdbc") if row["id"] == 2] == [
        "2024-05-01 12:00:00.007"
    ]


def test_files_of_dms(project: Project) -> None:
    found = by_id(project, "rows_of_dms")
    shown = {key: (str(row["price"]), row["_is_deleted"]) for key, row in found.items()}
    assert shown == {1: ("2.50", False), 2: ("9.99", True), 3: ("1.00", False), 4: ("-7.25", False), 5: ("1.50", False)}
    assert (str(found[5]["whole"]), found[5]["payload"]) == ("9" * 28, '{"price":99.25}')
    (rejected,) = [row for row in project.log("rows_of_dms") if row["_cdc_kind"] == "rejected"]
    assert (rejected["_cdc_reject_reason"], rejected["_cdc_reject_detail"]) == ("type_misfit", "whole")
    assert (found[3]["changed_at"], found[3]["_cdc_unresolved_columns"]) == ("2024-05-01 12:00:04.000001", None)
    assert found[2]["_deleted_at"] == "2024-05-01 12:00:05.000001"
    assert "Op" not in found[1]


def test_order_is_the_one_of_the_column_that_is_named(project: Project) -> None:
    """Case 4A of the torture test: by the time of arrival the older row is the newest."""
    assert by_id(project, "rows_by_arrival")[42]["status"] == "ACTIVE"


def test_lob_that_oracle_leaves_out_is_held(project: Project) -> None:
    (before,) = project.state("oracle_lobs", after_round=0)
    assert (before["body"], before["_cdc_unresolved_columns"]) == ("long", None)
    found = by_id(project, "oracle_lobs")
    assert found[1]["_is_deleted"]
    assert (found[2]["body"], found[2]["_cdc_unresolved_columns"]) == ("long", None)


def test_documents_of_mongodb(project: Project) -> None:
    found = by_id(project, "mongodb_documents", "_id")
    first, second = found[OID["$oid"]], found["plain"]
    assert (first["count"], second["count"]) == (9007199254740993, 7)
    assert str(first["price"]) == "12345678901234567890.10"
    assert (first["seen_at"], second["seen_at"]) == ("2024-05-01 12:00:00.123", "1969-12-31 23:59:59.999")
    assert first["ratio"] == 1.5
    assert second["ratio"] != second["ratio"]
    assert first["picture"] == second["picture"] == b"\x00\x01\x02"
    assert json.loads(first["address"]) == DOCUMENT["address"]
    assert (first["note"], second["note"]) == (None, "x")
    assert {key for key, row in found.items() if row["_is_deleted"]} == {"gone", "0" * 24}
    assert found["gone"]["count"] == 1
    rejected = [row["_cdc_reject_reason"] for row in project.log("mongodb_documents") if row["_cdc_kind"] == "rejected"]
    assert rejected == ["missing_key"]


def test_clock_orders_where_it_is_declared(project: Project) -> None:
    assert by_id(project, "by_clock")[1]["note"] == "new"
    rejected = [row["_cdc_reject_reason"] for row in project.log("by_clock") if row["_cdc_kind"] == "rejected"]
    assert rejected == ["missing_position"] * 2, "the connector's own clock is no time of the source"


def test_last_offset_orders_where_it_is_declared(project: Project) -> None:
    assert by_id(project, "rows_by_last_offset")[1]["note"] == "9"
