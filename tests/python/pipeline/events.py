"""Change events and files as Debezium and the sink connectors write them."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Iterable
from typing import Any

import fastavro

Event = dict[str, Any]
Line = Event | str | bytes | None

NOON_MS = 1_714_564_800_000  # 2024-05-01 12:00:00 UTC


def postgresql(
    op: str,
    lsn: int | None,
    row: Event | None = None,
    *,
    before: Event | None = None,
    commit: int | None = None,
    snapshot: str = "false",
    **source: Any,
) -> Event:
    """An envelope of the PostgreSQL connector.

    Args:
        op: c, u, d, r or t.
        lsn: the event's own log sequence number; None leaves the source position out.
        row: the image after; of a delete, the image before.
        before: the image before, of an update.
        commit: end of the transaction that was committed before, which also names it; one less than `lsn` by default.
        snapshot: ``source.snapshot``.
        source: more fields of ``source``, or other values for those that are there.
    """
    last_commit = None if op == "r" else str(lsn - 1 if commit is None and lsn is not None else commit)
    position = {} if lsn is None else {"lsn": lsn, "sequence": json.dumps([last_commit, str(lsn)])}
    return {
        "before": row if op == "d" else before,
        "after": None if op == "d" else row,
        "source": {
            "version": "3.2.0.Final",
            "connector": "postgresql",
            "name": "shop",
            "ts_ms": NOON_MS + (lsn or 0),
            "ts_us": (NOON_MS + (lsn or 0)) * 1000,
            "snapshot": snapshot,
            "db": "shop",
            "schema": "public",
            "table": "things",
            "txId": (lsn or 0) - 1 if commit is None else commit,
            **position,
            **source,
        },
        "transaction": None,
        "op": op,
        "ts_ms": NOON_MS + 500,
    }


def mysql(op: str, file: str, pos: int, row: Event | None, *, binlog_row: int = 0, snapshot: str = "false") -> Event:
    """An envelope of the MySQL connector."""
    event = postgresql(op, None, row, connector="mysql", snapshot=snapshot)
    event["source"] |= {"file": file, "pos": pos, "row": binlog_row, "gtid": None}
    return event


def of_connector(connector: str, op: str, row: Any, *, snapshot: str = "false", **source: Any) -> Event:
    """An envelope of a connector that has its own position, given as fields of ``source``."""
    return postgresql(op, None, row, connector=connector, snapshot=snapshot, **source)


def flattened(op: str, lsn: int | None, row: Event, **fields: Any) -> Event:
    """A record of ExtractNewRecordState with ``add.fields=op,lsn,source.ts_ms`` and deletes rewritten."""
    position = {} if lsn is None else {"__lsn": lsn, "__source_ts_ms": NOON_MS + lsn}
    return {**row, "__op": op, **position, "__deleted": "true" if op == "d" else "false", **fields}


HEARTBEAT: Event = {"ts_ms": NOON_MS}
TRANSACTION: Event = {
    "status": "END",
    "id": "700:12",
    "ts_ms": NOON_MS,
    "event_count": 1,
    "data_collections": [{"data_collection": "public.things", "event_count": 1}],
}
# What a feed of the transaction topic declares.
MARKER_COLUMNS = {
    "status": "string",
    "id": "string",
    "event_count": "bigint",
    "data_collections": "array<struct<data_collection:string,event_count:bigint>>",
    "ts_ms": "bigint",
}
SCHEMA_CHANGE: Event = {
    "source": {"version": "3.2.0.Final", "connector": "mysql", "ts_ms": NOON_MS, "file": "mysql-bin.000001", "pos": 4},
    "ts_ms": NOON_MS,
    "databaseName": "shop",
    "schemaName": None,
    "ddl": "ALTER TABLE things ADD COLUMN x INT",
    "tableChanges": [{"type": "ALTER", "id": '"shop"."things"', "table": {"columns": []}}],
}
MESSAGE: Event = {
    "op": "m",
    "ts_ms": NOON_MS,
    "source": {
        "connector": "postgresql",
        "ts_ms": NOON_MS,
        "lsn": 5,
        "sequence": '["4","5"]',
        "schema": "",
        "table": "",
    },
    "message": {"prefix": "audit", "content": "aGVsbG8="},
}


def schema_of(types: dict[str, Any]) -> list[Event]:
    """Fields of a Connect schema.

    Args:
        types: column -> Connect type, or the whole field: ``{"type": "int64", "name": "io.debezium.time.Timestamp"}``.
    """
    return [
        {"optional": True, "field": column, **(type_ if isinstance(type_, dict) else {"type": type_})}
        for column, type_ in types.items()
    ]


def with_schema(event: Event, types: dict[str, Any]) -> Event:
    """The event as JsonConverter writes it with ``schemas.enable=true``; an envelope's schema nests the row's."""
    fields = schema_of(types)
    if "op" in event:
        fields = [
            {"type": "struct", "fields": fields, "optional": True, "name": "shop.things.Value", "field": "before"},
            {"type": "struct", "fields": fields, "optional": True, "name": "shop.things.Value", "field": "after"},
            {"type": "struct", "fields": [], "optional": False, "name": "Source", "field": "source"},
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ]
    schema = {"type": "struct", "fields": fields, "optional": False, "name": "shop.things.Envelope", "version": 1}
    return {"schema": schema, "payload": event}


def stored(event: Event | None, offset: int, partition: int = 0) -> Event:
    """The event in the store envelope of the Lenses sink; None is a tombstone."""
    return {
        "key": {"id": 1},
        "value": event,
        "headers": {},
        "metadata": {"topic": "shop.things", "partition": partition, "offset": offset, "timestamp": NOON_MS},
    }


class Number(str):
    """A number that is written into the JSON digit by digit, whatever a double would make of it."""

    __slots__ = ()


def text(event: Event | None) -> str:
    """One line of JSON."""
    numbers: list[str] = []

    def mark(value: Any) -> Any:
        if isinstance(value, Number):
            numbers.append(str(value))
            return f"number-{len(numbers) - 1}-"
        if isinstance(value, dict):
            return {key: mark(item) for key, item in value.items()}
        return [mark(item) for item in value] if isinstance(value, list) else value

    line = json.dumps(mark(event), ensure_ascii=False, separators=(",", ":"))
    for index, number in enumerate(numbers):
        line = line.replace(f'"number-{index}-"', number)
    return line


def lines(*records: Line) -> bytes:
    """JSON lines; text and bytes go in as they are, None becomes ``null``."""
    return b"".join(
        (record if isinstance(record, bytes) else (record if isinstance(record, str) else text(record)).encode())
        + b"\n"
        for record in records
    )


def rounds_of(arriving: Iterable[Iterable[Line]]) -> list[dict[str, bytes]]:
    """One file for each round, of the records that arrive in it; none where nothing does."""
    files = [lines(*records) for records in arriving]
    return [{f"t+0+{number}.json": content} if content else {} for number, content in enumerate(files)]


def zipped(content: bytes) -> bytes:
    """The same, gzipped."""
    return gzip.compress(content, mtime=0)


def avro(schema: Event, *records: Any, codec: str = "null") -> bytes:
    """An Avro object container, one block for each record."""
    file = io.BytesIO()
    fastavro.writer(file, schema, list(records), codec=codec, sync_interval=1, sync_marker=b"0123456789abcdef")
    return file.getvalue()


def unscaled(number: int) -> str:
    """Base64 of the two's complement bytes that Connect's Decimal holds."""
    length = (number + (number < 0)).bit_length() // 8 + 1
    return encoded(number.to_bytes(length, "big", signed=True))


def encoded(content: bytes) -> str:
    """Base64."""
    return base64.b64encode(content).decode()
