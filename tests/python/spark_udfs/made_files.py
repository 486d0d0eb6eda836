"""Files as sink connectors leave them, made in memory."""

from __future__ import annotations

import copy
import gzip
import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]

SYNC = b"0123456789abcdef"


def nullable(type_: Any, **attributes: Any) -> dict[str, Any]:
    return {"type": ["null", {"type": type_, **attributes} if attributes else type_], "default": None}


def named(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, **schema}


VALUE = {
    "type": "record",
    "name": "Value",
    "connect.name": "shop.public.customers.Value",
    "fields": [
        named("id", type="long"),
        named("name", **nullable("string")),
        named(
            "balance",
            **nullable(
                "bytes",
                logicalType="decimal",
                precision=12,
                scale=2,
                **{"connect.name": "org.apache.kafka.connect.data.Decimal", "connect.parameters": {"scale": "2"}},
            ),
        ),
        named("birth", **nullable("int", logicalType="date", **{"connect.name": "org.apache.kafka.connect.data.Date"})),
        named("local_ts", **nullable("long", **{"connect.name": "io.debezium.time.MicroTimestamp"})),
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.customers",
    "fields": [
        named("before", type=["null", VALUE], default=None),
        named("after", type=["null", "Value"], default=None),
        named("op", type="string"),
        named("ts_ms", **nullable("long", **{"connect.name": "io.debezium.time.Timestamp"})),
    ],
}


def row(number: int, **other: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"Дмитрий {number}",
        "balance": (-number).to_bytes(2, "big", signed=True),
        "birth": -1508,
        "local_ts": 1740381341000007,
        **other,
    }


def envelope(number: int, **other: Any) -> dict[str, Any]:
    return {"before": None, "after": row(number), "op": "c", "ts_ms": 1795233549926, **other}


def without_logical_types(schema: Any) -> Any:
    schema = copy.deepcopy(schema)
    if isinstance(schema, dict):
        schema.pop("logicalType", None)
        return {key: without_logical_types(item) for key, item in schema.items()}
    return [without_logical_types(item) for item in schema] if isinstance(schema, list) else schema


def avro(schema: Any, records: list[Any], codec: str = "null", per_block: int | None = None) -> bytes:
    """Write an Avro file whose header holds the schema as given, with decimals written from bytes as they are."""
    file = io.BytesIO()
    # fastavro would turn bytes of a decimal back into a Decimal: the body is written without logical types, and
    # the header with them goes in front of it.
    plain = without_logical_types(schema)
    fastavro.writer(file, plain, [], codec=codec, sync_marker=SYNC)
    header_length = len(file.getvalue())
    for start in range(0, len(records), per_block or len(records) or 1):
        one = io.BytesIO()
        chunk = records[start : start + (per_block or len(records))]
        fastavro.writer(one, plain, chunk, codec=codec, sync_marker=SYNC, sync_interval=1 << 30)
        file.write(one.getvalue()[header_length:])
    return avro_header(schema, codec) + file.getvalue()[header_length:]


def avro_header(schema: Any, codec: str = "null") -> bytes:
    file = io.BytesIO()
    header = {
        "magic": b"Obj\x01",
        "meta": {"avro.codec": codec.encode(), "avro.schema": json.dumps(schema).encode()},
        "sync": SYNC,
    }
    fastavro.schemaless_writer(file, fastavro.read.HEADER_SCHEMA, header)
    return file.getvalue()


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def gz(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)
