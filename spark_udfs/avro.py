"""Records of an Avro object container file."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import fastavro
import pyarrow as pa

from alluvium.spark_udfs import semantic_types as names
from alluvium.spark_udfs.compression import inflate_zstd, raw_snappy
from alluvium.spark_udfs.record import FileError, Opened, SemanticTypes, Values, describe, float_text, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"Obj\x01"

_SYNC_SIZE = 16
_PRIMITIVES = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])

# Avro 1.11 logical types that are not decimals, as the Debezium type with the same unit and the same physical type.
LOGICAL_TYPES = {
    ("int", "date"): names.DATE,
    ("int", "time-millis"): names.TIME,
    ("long", "time-micros"): names.MICRO_TIME,
    ("long", "timestamp-millis"): names.TIMESTAMP,
    ("long", "timestamp-micros"): names.MICRO_TIMESTAMP,
    ("long", "timestamp-nanos"): names.NANO_TIMESTAMP,
    ("long", "local-timestamp-millis"): names.TIMESTAMP,
    ("long", "local-timestamp-micros"): names.MICRO_TIMESTAMP,
    ("long", "local-timestamp-nanos"): names.NANO_TIMESTAMP,
    ("string", "uuid"): names.UUID,
}

Converter = Callable[[Any], Any]
"""Takes a decoded value and gives one that has a JSON form."""

# The shortest text of a float32 has 1 to 9 digits; numbers below this limit (subnormal) need fewer than 6.
_SMALLEST_NORMAL_FLOAT32 = 2.0**-126


def open_avro(content: bytes) -> Opened:
    """Read an Avro object container file by its writer schema.

    A block is the unit of integrity in Avro: the records of a block are given once the whole block is there and ends
    with the file's sync marker.

    Args:
        content: the whole file.

    Returns:
        The semantic types of the row's columns, and the records. Decimals stay bytes (base64), dates, times and
        timestamps stay integers.

    Raises:
        FileError: the header is torn, is not Avro, or names a codec that cannot be decoded here.
    """
    header = read_header(content)
    schema = _Schema(header.schema)
    return schema.semantic_types(), _records(content, header, schema)


def _records(content: bytes, header: Header, schema: _Schema) -> Values:
    end, broken = _whole_blocks(content, header)
    blocks = content[header.end : end]
    if header.codec in _CODECS:
        blocks, damage = _inflated(blocks, header)
        header, broken = header._replace(codec="null"), damage or broken
    # fastavro applies logical types as the header's schema says, so it gets a header without them.
    source = io.BytesIO(_write_header(_without_logical_types(header.schema), header) + blocks)
    fix = schema.float_converter()
    try:
        for block in fastavro.block_reader(source, handle_unicode_errors="surrogateescape"):
            records = list(block)
            if block.bytes_.read(1):  # type: ignore[attr-defined] # not in the stubs of fastavro 1.13
                raise FileError("corrupt", f"an Avro block has more than the {len(records)} records that it counts")
            for record in records:
                yield to_json(fix(record) if fix else record)
    except ValueError as error:
        if "codec" in str(error):
            raise FileError("unsupported_codec", f"Avro codec {header.codec!r}") from error
        raise
    if broken:
        raise broken


def _snappy(data: bytes) -> bytes:
    """Avro's Snappy block: raw, with the CRC-32 of the text behind it."""
    text = raw_snappy(data[:-4])
    if zlib.crc32(text) != int.from_bytes(data[-4:], "big"):
        raise FileError("corrupt", "snappy, the checksum is that of another text")
    return text


def _lz4(data: bytes) -> bytes:
    """As fastavro writes it: raw, behind the length of the text."""
    text = pa.Codec("lz4_raw").decompress(data[4:], decompressed_size=int.from_bytes(data[:4], "little"), asbytes=True)
    return bytes(text)


# Those for which fastavro wants packages of their own.
_CODECS: dict[str, Callable[[bytes], bytes]] = {"snappy": _snappy, "zstandard": inflate_zstd, "lz4": _lz4}


def _inflated(blocks: bytes, header: Header) -> tuple[bytes, FileError | None]:
    """Whole blocks without their compression, up to the first that is damaged, and what is wrong with that one."""
    inflate = _CODECS[header.codec]
    parts: list[bytes] = []
    position = 0
    while position < len(blocks):
        count, start = _read_long(blocks, position)
        size, start = _read_long(blocks, start)
        try:
            text = inflate(blocks[start : start + size])
        except (FileError, OSError, ValueError, MemoryError) as error:
            return b"".join(parts), FileError(
                "corrupt", f"Avro block at byte {header.end + position}: {describe(error)}"
            )
        parts += [_write_long(count), _write_long(len(text)), text, header.sync]
        position = start + size + _SYNC_SIZE
    return b"".join(parts), None


class Header(NamedTuple):
    """What an Avro file says of its blocks, and where they begin."""

    schema: Any
    codec: str
    sync: bytes
    end: int


def read_header(content: bytes) -> Header:
    """What the file says of its blocks.

    Raises:
        FileError: it is torn, or not Avro.
    """
    if content[: len(MAGIC)] != MAGIC:
        if MAGIC.startswith(bytes(content[: len(MAGIC)])):
            raise FileError("truncated", f"Avro header ends after {len(content)} bytes")
        raise FileError("corrupt", "no Avro header")
    metadata: dict[str, bytes] = {}
    position = len(MAGIC)
    while True:
        count, position = _read_long(content, position)
        if count == 0:
            break
        if count < 0:
            count = -count
            _, position = _read_long(content, position)
        for _ in range(count):
            key, position = _read_bytes(content, position)
            value, position = _read_bytes(content, position)
            metadata[key.decode("utf-8")] = value
    end = position + _SYNC_SIZE
    if end > len(content):
        raise FileError("truncated", f"Avro header ends after {len(content)} bytes")
    if "avro.schema" not in metadata:
        raise FileError("corrupt", "Avro header without a schema")
    codec = metadata.get("avro.codec", b"null").decode("utf-8")
    return Header(json.loads(metadata["avro.schema"]), codec, bytes(content[position:end]), end)


def _whole_blocks(content: bytes, header: Header) -> tuple[int, FileError | None]:
    """Find the end of the last whole block, and what is wrong after it.

    fastavro 1.13 ends in silence where the file is torn inside the count of a block, so the frames are walked here.
    """
    position = header.end
    while position < len(content):
        try:
            count, start = _read_long(content, position)
            size, start = _read_long(content, start)
        except FileError as error:
            return position, error
        if count < 0 or size < 0:
            return position, FileError("corrupt", f"Avro block at byte {position} has no valid size")
        sync = content[start + size : start + size + _SYNC_SIZE]
        if sync != header.sync:
            if len(sync) < _SYNC_SIZE:
                return position, FileError("truncated", f"Avro block at byte {position} is torn")
            return position, FileError("corrupt", f"Avro block at byte {position} does not end with the sync marker")
        position = start + size + _SYNC_SIZE
    return position, None


def _read_long(content: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(content):
            raise FileError("truncated", f"Avro file ends after {len(content)} bytes, inside a number")
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise FileError("corrupt", f"no Avro number at byte {position}")


def _read_bytes(content: bytes, position: int) -> tuple[bytes, int]:
    size, start = _read_long(content, position)
    if size < 0:
        raise FileError("corrupt", f"no Avro size at byte {position}")
    if start + size > len(content):
        raise FileError("truncated", f"Avro header ends after {len(content)} bytes")
    return bytes(content[start : start + size]), start + size


def _write_header(schema: Any, header: Header) -> bytes:
    metadata = {"avro.schema": json.dumps(schema).encode(), "avro.codec": header.codec.encode()}
    parts = [MAGIC, _write_long(len(metadata))]
    for key, value in metadata.items():
        parts += [_write_long(len(key)), key.encode(), _write_long(len(value)), value]
    return b"".join([*parts, _write_long(0), header.sync])


def _write_long(value: int) -> bytes:
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    if isinstance(schema, list):
        return [_without_logical_types(item) for item in schema]
    return schema


class _Type(NamedTuple):
    """A schema with the namespace in which its names are to be read."""

    schema: Any
    namespace: str


class _Schema:
    """A writer schema whose named types can be looked up."""

    def __init__(self, schema: Any) -> None:
        self._named: dict[str, _Type] = {}
        self._root = _Type(schema, "")
        self._collect(self._root)

    def semantic_types(self) -> SemanticTypes:
        """Return the semantic types of the columns of the row."""
        return avro_semantic_types(self)

    def columns(self) -> Mapping[str, _Type]:
        """Return the columns of the row; none if the file does not hold records."""
        fields = self.fields_of(self._root)
        return {} if fields is None else names.row_fields(fields, self.fields_of)

    def fields_of(self, type_: _Type) -> Mapping[str, _Type] | None:
        """Return the fields of a record type, nullable or not; None for any other type."""
        type_ = self.resolve(type_)
        if not isinstance(type_.schema, dict) or type_.schema.get("type") not in ("record", "error"):
            return None
        namespace = _namespace(type_)
        return {field["name"]: _Type(field["type"], namespace) for field in type_.schema["fields"]}

    def resolve(self, type_: _Type) -> _Type:
        """Follow names, nested ``type`` attributes and nullable unions to the type itself."""
        schema, namespace = type_
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            return self.resolve(_Type(branches[0], namespace)) if len(branches) == 1 else type_
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            return self._named[_fullname(schema, namespace)]
        if isinstance(schema, dict) and isinstance(schema["type"], dict | list):
            return self.resolve(_Type(schema["type"], namespace))
        if isinstance(schema, dict) and _fullname(schema["type"], namespace) in self._named:
            return self._named[_fullname(schema["type"], namespace)]
        return type_

    def float_converter(self) -> Converter | None:
        """Return what makes the floats of a decoded record fit for JSON; None where there are none."""
        return _float_converter(self, self._root, {})

    def _collect(self, type_: _Type) -> None:
        schema, namespace = type_
        if isinstance(schema, list):
            for branch in schema:
                self._collect(_Type(branch, namespace))
        elif isinstance(schema, dict):
            if schema["type"] in ("record", "error", "enum", "fixed"):
                self._named[_fullname(schema["name"], schema.get("namespace", namespace))] = type_
            for field in schema.get("fields", ()):
                self._collect(_Type(field["type"], _namespace(type_)))
            for inner in ("items", "values", "type"):
                if isinstance(schema.get(inner), dict | list):
                    self._collect(_Type(schema[inner], namespace))


def _fullname(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _namespace(type_: _Type) -> str:
    name: str = type_.schema.get("name", "")
    if "." in name:
        return name.rpartition(".")[0]
    namespace: str = type_.schema.get("namespace", type_.namespace)
    return namespace


def avro_semantic_types(schema: _Schema) -> SemanticTypes:
    """Return column name to semantic type; an array column has the type of its items."""
    found = {name: _semantic_type(schema, column) for name, column in schema.columns().items()}
    return {name: type_ for name, type_ in found.items() if type_ is not None}


def parse_semantic_types(schema_text: bytes) -> SemanticTypes:
    """Return the semantic types that an Avro schema text gives, as Parquet files carry it in their footer."""
    return _Schema(json.loads(schema_text)).semantic_types()


def _semantic_type(schema: _Schema, column: _Type) -> str | None:
    type_ = schema.resolve(column)
    attributes = type_.schema
    if not isinstance(attributes, dict):
        return None
    name: str | None = attributes.get("connect.name")
    kind, logical = attributes["type"], attributes.get("logicalType")
    if name == names.DECIMAL or (name is None and logical == "decimal" and kind in ("bytes", "fixed")):
        scale = attributes.get("connect.parameters", {}).get("scale", attributes.get("scale", 0))
        return f"{names.DECIMAL}:{scale}"
    if name is None and kind == "array":
        return _semantic_type(schema, _Type(attributes["items"], type_.namespace))
    return name or LOGICAL_TYPES.get((kind, str(logical)))


def shortest_float32(value: float) -> float | str:
    """Return the float whose shortest text is the shortest decimal that rounds to this float32.

    Args:
        value: a number that a float32 can hold exactly, infinity or NaN.
    """
    if value - value != 0.0:
        return float_text(value)
    for digits in range(6 if abs(value) >= _SMALLEST_NORMAL_FLOAT32 else 1, 9):
        candidate = float(f"{value:.{digits}g}")
        try:
            if struct.unpack("<f", struct.pack("<f", candidate))[0] == value:
                return candidate
        except OverflowError:
            # Rounded up past the largest float32.
            continue
    return float(f"{value:.9g}")


def _any_float(value: Any) -> Any:
    """Convert without a type: the branches of a union cannot be told apart in the decoded value."""
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        return {key: _any_float(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_any_float(item) for item in value]
    return value


def _or_none(convert: Converter) -> Converter:
    return lambda value: None if value is None else convert(value)


_FLOATS: dict[str, Converter] = {"float": _or_none(shortest_float32), "double": _or_none(float_text)}


def _float_converter(schema: _Schema, type_: _Type, seen: dict[int, Converter | None]) -> Converter | None:
    """Compile the conversion of one type, so that records without floats cost nothing.

    ``seen`` holds the converter of each record type on the way down: a type that contains itself finds it there.
    """
    type_ = schema.resolve(type_)
    kind = type_.schema["type"] if isinstance(type_.schema, dict) else type_.schema
    if isinstance(kind, list):
        branches = [_float_converter(schema, _Type(branch, type_.namespace), seen) for branch in kind]
        return _any_float if any(branches) else None
    if kind in ("array", "map"):
        inner = type_.schema["items" if kind == "array" else "values"]
        convert = _float_converter(schema, _Type(inner, type_.namespace), seen)
        return convert and _or_none(_container_converter(kind, convert))
    fields = schema.fields_of(type_)
    return _FLOATS.get(kind) if fields is None else _record_converter(schema, type_, fields, seen)


def _container_converter(kind: str, convert: Converter) -> Converter:
    if kind == "array":
        return lambda items: [convert(item) for item in items]
    return lambda entries: {key: convert(item) for key, item in entries.items()}


def _record_converter(
    schema: _Schema, type_: _Type, fields: Mapping[str, _Type], seen: dict[int, Converter | None]
) -> Converter | None:
    identity = id(type_.schema)
    if identity in seen:
        return seen[identity]
    converters: list[tuple[str, Converter]] = []

    def convert(record: Any) -> Any:
        for name, converter in converters:
            record[name] = converter(record[name])
        return record

    seen[identity] = _or_none(convert)
    for name, field in fields.items():
        converter = _float_converter(schema, field, seen)
        if converter is not None:
            converters.append((name, converter))
    if not converters:
        seen[identity] = None
    return seen[identity]
