"""Kafka Connect's schemas, and what its converters and the sinks' formats make of them.

JsonConverter (Kafka 3), AvroData (Confluent 7), ParquetFormat (Confluent S3 sink 10: Avro's schema, by parquet-avro).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

Row = Mapping[str, Any]

DATE: Final = "org.apache.kafka.connect.data.Date"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)

_AVRO_TYPES: Final = {
    "boolean": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float32": "float",
    "float64": "double",
    "string": "string",
    "bytes": "bytes",
}
_ARROW_TYPES: Final = {
    "boolean": pa.bool_(),
    "int8": pa.int32(),
    "int16": pa.int32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


@dataclass(frozen=True)
class Schema:
    """A schema of Kafka Connect.

    Attributes:
        type: `int8` to `int64`, `float32`, `float64`, `boolean`, `string`, `bytes`, `array`, `struct`.
        optional: whether a value may be null.
        name: the semantic type, or the name of a struct.
        version: of the schema; semantic types have 1.
        parameters: as the connector sets them; a decimal has `scale`, from Debezium `connect.decimal.precision` too.
        default: the column's default, as a value of this schema.
        fields: of a struct, in order.
        items: of an array.
    """

    type: str
    optional: bool = False
    name: str | None = None
    version: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    default: Any = None
    fields: Mapping[str, Schema] = field(default_factory=dict)
    items: Schema | None = None

    def nullable(self) -> Schema:
        """The same schema, for a value that may be null."""
        return replace(self, optional=True)


def struct(name: str | None, fields: Mapping[str, Schema], *, optional: bool = False) -> Schema:
    """A struct of these fields."""
    return Schema("struct", optional, name, fields=dict(fields))


def decimal(precision: int, scale: int, *, optional: bool = False, default: Decimal | None = None) -> Schema:
    """Connect's decimal as Debezium declares it: with `decimal.handling.mode=precise`, the default."""
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return Schema("bytes", optional, DECIMAL, 1, parameters, default)


def utc(text: str) -> datetime:
    """A time in UTC, from its text in ISO 8601."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def days(day: date) -> int:
    """Days since 1970, as `io.debezium.time.Date` counts them."""
    return (day - EPOCH.date()).days


def unscaled(value: Decimal, scale: int) -> bytes:
    """The unscaled value of a decimal: big-endian two's complement in as few bytes as will do, as Java writes it."""
    number = int(value.scaleb(scale))
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def json_schema(schema: Schema, field_name: str | None = None) -> dict[str, Any]:
    """The schema as JsonConverter writes it beside a payload."""
    described: dict[str, Any] = {"type": schema.type}
    if schema.type == "struct":
        described["fields"] = [json_schema(part, name) for name, part in schema.fields.items()]
    if schema.items is not None:
        described["items"] = json_schema(schema.items)
    described["optional"] = schema.optional
    if schema.name is not None:
        described["name"] = schema.name
    if schema.version is not None:
        described["version"] = schema.version
    if schema.parameters:
        described["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        described["default"] = json_value(schema, schema.default)
    if field_name is not None:
        described["field"] = field_name
    return described


def json_value(schema: Schema, value: Any) -> Any:
    """A value as JsonConverter writes it: decimals and bytes as base64, Connect's times as numbers."""
    if value is None:
        return None
    if schema.name == DECIMAL:
        return base64.b64encode(unscaled(value, int(schema.parameters["scale"]))).decode()
    if schema.name == TIMESTAMP:
        return milliseconds(value)
    if schema.name == DATE:
        return days(value)
    if schema.type == "bytes":
        return base64.b64encode(value).decode()
    if schema.type == "struct":
        return {name: json_value(part, value.get(name)) for name, part in schema.fields.items()}
    if schema.items is not None:
        return [json_value(schema.items, item) for item in value]
    return value


def avro_schema(schema: Schema, named: set[str] | None = None) -> Any:
    """The schema as AvroData writes it; a record that was there before is its name."""
    named = set() if named is None else named
    described: Any = _AVRO_TYPES.get(schema.type)
    if schema.type == "struct":
        described = _avro_record(schema, named)
    elif schema.items is not None:
        described = {"type": "array", "items": avro_schema(schema.items, named)}
    elif schema.name is not None or schema.type in ("int8", "int16"):
        described = {"type": described, **_avro_properties(schema)}
    return ["null", described] if schema.optional else described


def _avro_record(schema: Schema, named: set[str]) -> Any:
    name = schema.name or "ConnectDefault"
    if name in named:
        return name
    named.add(name)
    namespace, _, simple = name.rpartition(".")
    fields = []
    for field_name, part in schema.fields.items():
        described = {"name": field_name, "type": avro_schema(part, named)}
        if part.optional:
            described["default"] = None
        fields.append(described)
    record = {"type": "record", "name": simple, "fields": fields, "connect.name": name}
    return {**record, "namespace": namespace or "io.confluent.connect.avro"}


def _avro_properties(schema: Schema) -> dict[str, Any]:
    if schema.name is None:
        return {"connect.type": schema.type}
    properties: dict[str, Any] = {"connect.name": schema.name, "connect.version": schema.version or 1}
    if schema.parameters:
        properties["connect.parameters"] = dict(schema.parameters)
    if schema.name == DECIMAL:
        precision = int(schema.parameters["connect.decimal.precision"])
        return {
            **properties,
            "logicalType": "decimal",
            "precision": precision,
            "scale": int(schema.parameters["scale"]),
        }
    logical = {DATE: "date", TIMESTAMP: "timestamp-millis"}.get(schema.name)
    return {**properties, "logicalType": logical} if logical else properties


def arrow_type(schema: Schema) -> pa.DataType:
    """The column's type in a Parquet file: Avro's, so that only Connect's own semantic types have a logical type."""
    if schema.name == DECIMAL:
        return pa.decimal128(int(schema.parameters["connect.decimal.precision"]), int(schema.parameters["scale"]))
    if schema.name == TIMESTAMP:
        return pa.timestamp("ms", tz="UTC")
    if schema.name == DATE:
        return pa.date32()
    if schema.type == "struct":
        return pa.struct(arrow_fields(schema))
    if schema.items is not None:
        return pa.list_(pa.field("element", arrow_type(schema.items), schema.items.optional))
    return _ARROW_TYPES[schema.type]


def arrow_fields(schema: Schema) -> Sequence[pa.Field]:
    """The columns of a struct."""
    return [pa.field(name, arrow_type(part), part.optional) for name, part in schema.fields.items()]
