"""Records of a Parquet file."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from alluvium.spark_udfs import semantic_types as names
from alluvium.spark_udfs.avro import parse_semantic_types
from alluvium.spark_udfs.record import FileError, Opened, SemanticTypes, Values, float_text, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAGIC = b"PAR1"

_BATCH_ROWS = 4096
# Where parquet-avro, which the Confluent sink writes with, keeps the Avro schema with its connect.name attributes.
AVRO_SCHEMA_KEYS = (b"parquet.avro.schema", b"avro.schema")

TIME_TYPES = {"ms": names.TIME, "us": names.MICRO_TIME, "ns": names.NANO_TIME}
TIMESTAMP_TYPES = {"ms": names.TIMESTAMP, "us": names.MICRO_TIMESTAMP, "ns": names.NANO_TIMESTAMP}
# Kafka Connect's own types mean the same unit as these Debezium types.
_SAME_UNIT = {
    names.DATE: "org.apache.kafka.connect.data.Date",
    names.TIME: "org.apache.kafka.connect.data.Time",
    names.TIMESTAMP: "org.apache.kafka.connect.data.Timestamp",
}


def open_parquet(content: bytes) -> Opened:
    """Read a Parquet file by its own schema, in batches of rows.

    Args:
        content: the whole file.

    Returns:
        The semantic types of the row's columns, and the records. Decimals become plain text; dates, times and
        timestamps integers in the file's unit (INT96 in microseconds).

    Raises:
        FileError: the footer is missing, so that nothing can be read.
        pyarrow.ArrowException: the footer is damaged.
    """
    if len(content) < 3 * len(MAGIC) or content[-len(MAGIC) :] != MAGIC:
        raise FileError("truncated", f"no Parquet footer in {len(content)} bytes")
    file = pq.ParquetFile(
        pa.BufferReader(pa.py_buffer(content)),
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=True,
        arrow_extensions_enabled=False,
    )
    return _semantic_types(file), _records(file)


def _records(file: pq.ParquetFile) -> Values:
    metadata = file.metadata
    there = sum(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
    if there != metadata.num_rows:
        raise FileError("corrupt", f"the Parquet footer counts {metadata.num_rows} rows, its row groups {there}")
    for row_group in range(file.num_row_groups):
        given = 0
        # One row group at a time: a batch across two would lose the rows of the first when the second is damaged.
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[row_group]):
            columns = [_python_values(column) for column in batch.columns]
            fields = batch.schema.names
            rows = zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
            for row in rows:
                yield to_json(dict(zip(fields, row, strict=True)))
            given += batch.num_rows
        counted = metadata.row_group(row_group).num_rows
        if given != counted:
            raise FileError("corrupt", f"a Parquet row group counts {counted} rows and gives {given}")


def _semantic_types(file: pq.ParquetFile) -> SemanticTypes:
    metadata = file.metadata.metadata or {}
    declared: SemanticTypes = {}
    for key in AVRO_SCHEMA_KEYS:
        if key in metadata:
            declared = parse_semantic_types(metadata[key])
            break
    columns = names.row_fields({field.name: field.type for field in file.schema_arrow}, _fields_of)
    found = {name: _semantic_type(type_, declared.get(name)) for name, type_ in columns.items()}
    return {name: type_ for name, type_ in found.items() if type_ is not None}


def _fields_of(type_: pa.DataType) -> Mapping[str, pa.DataType] | None:
    return {field.name: field.type for field in type_} if pa.types.is_struct(type_) else None


def _semantic_type(type_: pa.DataType, declared: str | None) -> str | None:
    """Return the type of one column; what the file physically holds goes before what its Avro schema declares."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _semantic_type(type_.value_type, declared)
    if pa.types.is_decimal(type_):
        return "decimal"
    own: str | None = None
    if pa.types.is_date(type_):
        own = names.DATE
    elif pa.types.is_time(type_):
        own = TIME_TYPES.get(type_.unit)
    elif pa.types.is_timestamp(type_):
        own = TIMESTAMP_TYPES.get(type_.unit)
    if own is None or declared == _SAME_UNIT.get(own, own):
        return declared
    return own


def _python_values(array: pa.Array) -> list[Any]:
    """Turn an array into what to_json takes: temporal values as integers, decimals as text, binary as bytes."""
    type_ = array.type
    for fits, convert in _CONVERTERS:
        if fits(type_):
            return convert(array)
    values: list[Any] = array.to_pylist()
    return values


def _structs(array: pa.Array) -> list[Any]:
    fields = [field.name for field in array.type]
    columns = [_python_values(child) for child in array.flatten()]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    values: list[Any] = [dict(zip(fields, row, strict=True)) for row in rows]
    return _with_nulls(array, values)


def _lists(array: pa.Array) -> list[Any]:
    items = _python_values(array.flatten())
    return _slices(array, items)


def _maps(array: pa.Array) -> list[Any]:
    """Write a map as Connect's JsonConverter does: an object if its keys are strings, else a list of pairs."""
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    keys = _python_values(array.keys[start:end])
    items = _python_values(array.items[start:end])
    entries = _slices(array, list(zip(keys, items, strict=True)), start)
    if pa.types.is_string(array.type.key_type):
        return [None if pairs is None else dict(pairs) for pairs in entries]
    return entries


def _slices(array: pa.Array, items: list[Any], start: int | None = None) -> list[Any]:
    values: list[Any] = []
    position = 0
    if start is None:
        lengths = array.value_lengths().to_pylist()
    else:
        offsets = array.offsets.to_pylist()
        lengths = [after - before for before, after in itertools.pairwise(offsets)]
    for length in lengths:
        values.append(None if length is None else items[position : position + length])
        position += length or 0
    return _with_nulls(array, values)


def _with_nulls(array: pa.Array, values: list[Any]) -> list[Any]:
    if not array.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _strings(array: pa.Array) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        # Parquet promises UTF-8 but nobody checks; one bad row must not take the batch with it.
        raw = array.cast(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary()).to_pylist()
        values = [None if item is None else item.decode("utf-8", "surrogateescape") for item in raw]
    return values


def _decimals(array: pa.Array) -> list[Any]:
    # Arrow's own cast to string writes 1.000E-7.
    return [None if value is None else f"{value:f}" for value in array.to_pylist()]


def _float32s(array: pa.Array) -> list[Any]:
    # Arrow prints the shortest text that gives the same float32.
    return [None if text is None else float_text(float(text)) for text in array.cast(pa.string()).to_pylist()]


def _float64s(array: pa.Array) -> list[Any]:
    return [None if value is None else float_text(value) for value in array.to_pylist()]


def _integers(bits: int) -> Callable[[pa.Array], list[Any]]:
    to = pa.int32() if bits == 32 else pa.int64()
    # view() keeps the bits; to_pylist() would fail for dates past the year 9999.
    return lambda array: array.view(to).to_pylist()


def _decoded(array: pa.Array) -> list[Any]:
    return _python_values(array.dictionary_decode())


_types = pa.types
_CONVERTERS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], list[Any]]]] = [
    (_types.is_string, _strings),
    (_types.is_large_string, _strings),
    (_types.is_struct, _structs),
    (_types.is_list, _lists),
    (_types.is_large_list, _lists),
    (_types.is_map, _maps),
    (_types.is_decimal, _decimals),
    (_types.is_float16, lambda array: _float32s(array.cast(pa.float32()))),
    (_types.is_float32, _float32s),
    (_types.is_float64, _float64s),
    (_types.is_date32, _integers(32)),
    (_types.is_date64, lambda array: _integers(32)(array.cast(pa.date32()))),
    (_types.is_time32, _integers(32)),
    (_types.is_time64, _integers(64)),
    (_types.is_timestamp, _integers(64)),
    (_types.is_duration, _integers(64)),
    (_types.is_dictionary, _decoded),
]
