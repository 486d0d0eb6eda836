"""Avro and Parquet files as Kafka Connect's sinks write Debezium's records, from values written by hand."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pipeline.events import avro

Schema = Any
"""An Avro schema as JSON has it."""

# What AvroConverter registers for the fields around the row, so far as a reader looks at them.
SOURCE: Schema = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        {"name": "connector", "type": "string"},
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [{"type": "string", "connect.default": "false"}, "null"], "default": "false"},
        {"name": "sequence", "type": ["null", "string"], "default": None},
        {"name": "txId", "type": ["null", "long"], "default": None},
        {"name": "lsn", "type": ["null", "long"], "default": None},
    ],
}
_PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
# Avro's logical types that parquet-avro writes as Parquet's own; those of Debezium stay integers.
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
}


def avro_file(row: list[Schema] | None, schema: Schema, records: list[Any], is_flat: bool) -> bytes:
    """An Avro file.

    Args:
        row: Avro fields of the row; None where `schema` is the whole record's.
        schema: of the record.
        records: in the order of the file; decimals as bytes.
        is_flat: the row is the record; else it is the row of an envelope.
    """
    return avro(_record(row, is_flat) if row else schema, *records)


def parquet_file(row: list[Schema] | None, schema: Schema, records: list[Any], is_flat: bool) -> bytes:
    """A Parquet file with the Avro schema in its footer, as parquet-avro writes it; decimals are given as text."""
    avro_schema = _record(row, is_flat) if row else schema
    record = _arrow(avro_schema, {})
    table = pa.Table.from_pylist(
        [_given(value, record) for value in records], schema=pa.schema(list(record))
    ).replace_schema_metadata({b"parquet.avro.schema": json.dumps(avro_schema).encode()})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _record(row: list[Schema], is_flat: bool) -> Schema:
    """The schema of the record around a row."""
    value = {"type": "record", "name": "Value", "namespace": "shop.public.things", "fields": row}
    if is_flat:
        return value
    return {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.public.things",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": SOURCE},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }


def _arrow(schema: Schema, named: dict[str, pa.DataType]) -> pa.DataType:
    """The Arrow type of an Avro schema; `named` has the record types that were met."""
    if isinstance(schema, list):
        (branch,) = [branch for branch in schema if branch != "null"]
        return _arrow(branch, named)
    if isinstance(schema, str):
        return named.get(schema) or _PRIMITIVES[schema]
    if schema["type"] == "record":
        fields = [pa.field(field["name"], _arrow(field["type"], named)) for field in schema["fields"]]
        named[schema["name"]] = pa.struct(fields)
        return named[schema["name"]]
    if schema["type"] == "array":
        return pa.list_(pa.field("element", _arrow(schema["items"], named)))
    if schema["type"] == "map":
        return pa.map_(pa.string(), _arrow(schema["values"], named))
    if schema.get("logicalType") == "decimal":
        return pa.decimal128(schema["precision"], schema["scale"])
    return _LOGICAL.get(schema.get("logicalType")) or _PRIMITIVES[schema["type"]]


def _given(value: Any, type_: pa.DataType) -> Any:
    """A value as pyarrow takes it for a type."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _given(value.get(field.name), field.type) for field in type_}
    if pa.types.is_list(type_):
        return [_given(item, type_.value_type) for item in value]
    if pa.types.is_map(type_):
        return list(value.items())
    return Decimal(value) if pa.types.is_decimal(type_) else value
