"""Schemas of JSON with schema, Avro and Parquet, all in Kafka Connect's terms."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from alluvium.spark_udfs import semantic_types as names
from alluvium.spark_udfs.avro import LOGICAL_TYPES
from alluvium.spark_udfs.parquet import AVRO_SCHEMA_KEYS, TIME_TYPES, TIMESTAMP_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ABSENT = object()


@dataclass(frozen=True)
class Schema:
    """A Connect schema.

    Attributes:
        type: ``int8`` to ``int64``, ``float32``, ``float64``, ``boolean``, ``string``, ``bytes``, ``array``, ``map``,
            ``struct``; of Parquet also ``uint64`` and ``null``; ``unknown`` for what Connect has no word for.
        name: semantic type, or None.
        optional: False where the schema says that there is always a value.
        default: of the schema; ``has_default`` tells a default of null from none.
        has_default: whether the schema has one.
        precision: of a decimal, or None.
        scale: of a decimal, or None.
        parameters: all of them, as texts.
        items: of an array, and of the values of a map.
        fields: of a struct, in their order.
    """

    type: str
    name: str | None = None
    optional: bool = True
    default: Any = None
    has_default: bool = False
    precision: int | None = None
    scale: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    items: Schema | None = None
    fields: Mapping[str, Schema] = field(default_factory=dict)


def from_connect(schema: Mapping[str, Any]) -> Schema:
    """Read the schema that JsonConverter writes beside a payload; equal ones, line after line, once."""
    text = json.dumps(schema)
    if text not in _READ:
        # A topic has a few versions of its schema; an endless number of them is no reason to keep all.
        if len(_READ) >= _MAX_READ:
            _READ.clear()
        _READ[text] = _from_connect(schema)
    return _READ[text]


_READ: dict[str, Schema] = {}
_MAX_READ = 1000


def _from_connect(schema: Mapping[str, Any]) -> Schema:
    parameters = {str(key): str(value) for key, value in (schema.get("parameters") or {}).items()}
    default = schema.get("default", _ABSENT)
    if schema["type"] not in _CONNECT_TYPES:
        raise ValueError(f"type {schema['type']!r}")
    return Schema(
        type=_CONNECT_TYPES[schema["type"]],
        name=schema.get("name"),
        optional=bool(schema.get("optional", False)),
        default=None if default is _ABSENT else default,
        has_default=default is not _ABSENT,
        parameters=parameters,
        items=_from_connect(schema["values" if schema["type"] == "map" else "items"])
        if schema["type"] in ("array", "map")
        else None,
        fields={inner["field"]: _from_connect(inner) for inner in schema.get("fields", ())},
        **_decimal(schema.get("name"), parameters.get("scale"), parameters.get("connect.decimal.precision")),
    )


_CONNECT_TYPES = {
    **{name: name for name in ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes")},
    **{name: name for name in ("array", "map", "struct")},
    "float": "float32",
    "double": "float64",
}


def _decimal(name: str | None, scale: Any, precision: Any) -> dict[str, Any]:
    if name != names.DECIMAL:
        return {}
    return {"scale": int(scale or 0), "precision": None if precision is None else int(precision)}


def from_avro(schema: Any) -> Schema:
    """Read an Avro writer schema; attributes ``connect.*`` go before Avro's own logical types."""
    return _Avro().read(schema, "")


class _Avro:
    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}

    def read(self, schema: Any, namespace: str) -> Schema:
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            inner = self.read(branches[0], namespace) if len(branches) == 1 else Schema("unknown")
            return replace(inner, optional="null" in schema)
        if isinstance(schema, str):
            if schema in _AVRO_TYPES:
                return Schema(_AVRO_TYPES[schema], optional=False)
            return self._named.get(schema) or self._named.get(f"{namespace}.{schema}") or Schema("unknown")
        if isinstance(schema["type"], dict | list):
            return self.read(schema["type"], namespace)
        return self._read_object(schema, namespace)

    def _read_object(self, schema: Mapping[str, Any], namespace: str) -> Schema:
        kind = schema["type"]
        namespace = schema.get("namespace", namespace)
        if kind not in _AVRO_TYPES and kind not in ("record", "array", "map"):
            return self.read(kind, namespace)
        parameters = {str(key): str(value) for key, value in (schema.get("connect.parameters") or {}).items()}
        logical = schema.get("logicalType", "")
        is_decimal = logical == "decimal" and kind in ("bytes", "fixed")
        name = schema.get("connect.name") or (names.DECIMAL if is_decimal else LOGICAL_TYPES.get((kind, logical)))
        connect_type = schema.get("connect.type")
        inner = schema.get("items", schema.get("values"))
        fields = {entry["name"]: self._read_field(entry, namespace) for entry in schema.get("fields", ())}
        read = Schema(
            type=connect_type or ("struct" if kind == "record" else _AVRO_TYPES.get(kind, kind)),
            name=name if kind != "record" else schema.get("connect.name"),
            optional=False,
            parameters=parameters,
            items=None if inner is None else self.read(inner, namespace),
            fields=fields,
            **_decimal(
                name,
                parameters.get("scale", schema.get("scale")),
                parameters.get("connect.decimal.precision", schema.get("precision")),
            ),
        )
        if "name" in schema:
            self._named[schema["name"]] = self._named[f"{namespace}.{schema['name']}"] = read
        return read

    def _read_field(self, entry: Mapping[str, Any], namespace: str) -> Schema:
        read = self.read(entry["type"], namespace)
        declared = entry["type"] if isinstance(entry["type"], dict) else {}
        default = declared.get("connect.default", entry.get("default", _ABSENT))
        # A nullable field's default of null says that it may be left out, not what it is.
        if default is _ABSENT or (default is None and read.optional):
            return read
        return replace(read, default=_avro_default(default, read), has_default=True)


def _avro_default(default: Any, schema: Schema) -> Any:
    """As JsonConverter writes it: Avro's defaults of bytes are texts with a letter for each byte."""
    if schema.type == "bytes" and isinstance(default, str):
        return base64.b64encode(default.encode("latin-1")).decode()
    if schema.type == "struct" and isinstance(default, dict):
        return {name: _avro_default(item, schema.fields.get(name, schema)) for name, item in default.items()}
    return default


_AVRO_TYPES = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
    "array": "array",
    "map": "map",
    "null": "unknown",
}


def has_avro_schema(schema: pa.Schema) -> bool:
    """Whether parquet-avro has left the Avro schema in a file's footer."""
    return any(key in (schema.metadata or {}) for key in AVRO_SCHEMA_KEYS)


def from_arrow(schema: pa.Schema) -> Schema:
    """Read a Parquet file's schema, and beside it the Avro schema that parquet-avro leaves in the footer."""
    metadata = schema.metadata or {}
    text = next((metadata[key] for key in AVRO_SCHEMA_KEYS if key in metadata), None)
    declared = from_avro(json.loads(text)) if text else None
    return Schema("struct", optional=False, fields=_arrow_fields(schema, declared))


def _arrow_fields(fields: Sequence[pa.Field], declared: Schema | None) -> dict[str, Schema]:
    return {
        entry.name: _from_arrow_type(entry.type, entry.nullable, declared.fields.get(entry.name) if declared else None)
        for entry in fields
    }


def _from_arrow_type(type_: pa.DataType, nullable: bool, declared: Schema | None) -> Schema:
    types = pa.types
    own = next((found for fits, found in _ARROW_TYPES if fits(type_)), None)
    said: dict[str, Any] = {"optional": nullable}
    if declared:
        said |= {"name": declared.name, "default": declared.default, "has_default": declared.has_default}
    if types.is_struct(type_):
        return Schema("struct", fields=_arrow_fields(list(type_), declared), **said)
    if types.is_list(type_) or types.is_large_list(type_):
        return Schema(
            "array", items=_from_arrow_type(type_.value_type, True, declared.items if declared else None), **said
        )
    if types.is_map(type_):
        return Schema(
            "map", items=_from_arrow_type(type_.item_type, True, declared.items if declared else None), **said
        )
    if types.is_dictionary(type_):
        return _from_arrow_type(type_.value_type, nullable, declared)
    if types.is_decimal(type_):
        return Schema("bytes", **{**said, "name": "decimal"}, precision=type_.precision, scale=type_.scale)
    if types.is_timestamp(type_) or types.is_time(type_):
        return Schema(
            "int64", **{**said, "name": (TIMESTAMP_TYPES if types.is_timestamp(type_) else TIME_TYPES).get(type_.unit)}
        )
    if own is None:
        return declared or Schema("unknown", optional=nullable)
    if types.is_date(type_):
        return Schema(own, **{**said, "name": names.DATE})
    if declared and declared.scale is not None:
        said |= {"scale": declared.scale, "precision": declared.precision}
    return Schema(own, **said)


_ARROW_TYPES = [
    (getattr(pa.types, f"is_{kind}"), name)
    for name, kinds in {
        "boolean": "boolean",
        "int8": "int8",
        "int16": "int16 uint8",
        "int32": "int32 uint16 date",
        "int64": "int64 uint32",
        "uint64": "uint64",
        "null": "null",
        "float32": "float16 float32",
        "float64": "float64",
        "string": "string large_string",
        "bytes": "binary large_binary fixed_size_binary",
    }.items()
    for kind in kinds.split()
]
