"""The records of one object, and the schema that describes their row."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from alluvium.spark_udfs import read_records
from alluvium.spark_udfs.avro import read_header
from alluvium.spark_udfs.reader import kind_of
from alluvium.spark_udfs.record import FileError

from .schemas import Schema, from_arrow, from_avro, has_avro_schema
from .types import JsonNumber

NO_BYTES = "truncated: 0 bytes, and Spark lists no such file"
"""What is wrong with a file of which nothing was written."""


@dataclass
class Content:
    """What an object holds.

    Attributes:
        format: ``json``, ``avro`` or ``parquet``, by its content.
        compression: around the file, or the codec of a container; None without one.
        lines: 1-based number and value of each line that could be read, as ``json.loads`` gives it.
        errors: line and what is wrong with it, or with the file from there on; line 0 for all of the file.
        schema: of the records, where the file has one of its own.
        says_meaning: False where that schema says how wide a number is and not what it counts: Parquet without the Avro
            schema that Kafka Connect's writer leaves in it.
        is_cut: True where no more than the beginning was read.
        text_bytes: length of the records that were read, as text.
    """

    format: str
    compression: str | None = None
    lines: list[tuple[int, Any]] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)
    schema: Schema | None = None
    says_meaning: bool = True
    is_cut: bool = False
    text_bytes: int = 0


def read_content(content: bytes, path: str, *, is_cut: bool = False, text_bytes: int | None = None) -> Content:
    """Read an object as the models do.

    Args:
        content: all of it, or its beginning.
        path: looked at only where the content does not tell the format.
        is_cut: True where it is the beginning: what breaks at its end is then no error.
        text_bytes: of a file that is compressed, as much of its records; None for all of them.
    """
    if not content:
        # One that is plain JSON has no lines.
        is_container = path.lower().endswith((".avro", ".parquet", ".gz"))
        return Content(_format_by_name(path), errors=[(0, NO_BYTES)] if is_container else [])
    found = _recognise(content, path)
    found.is_cut = is_cut
    for record in read_records(content, path):
        if record.error is not None:
            found.errors.append((record.line, record.error))
            continue
        value = record.value
        found.text_bytes += len(value or "")
        if text_bytes is not None and found.text_bytes > text_bytes:
            found.is_cut = True
            break
        if value is not None and value.strip():
            try:
                found.lines.append((record.line, _parse(value)))
            except ValueError:
                found.errors.append((record.line, "malformed_json: no JSON record"))
            except RecursionError:
                found.errors.append((record.line, "malformed_json: nested too deeply"))
    last_line = found.lines[-1][0] if found.lines else 0
    found.errors = [(line, error) for line, error in found.errors if not (is_cut and line > last_line)]
    return found


def _format_by_name(path: str) -> str:
    return next((form for form in ("avro", "parquet") if path.lower().endswith(f".{form}")), "json")


def _recognise(content: bytes, path: str) -> Content:
    try:
        kind = kind_of(content, path)
        inside = b"" if kind.format == "json" else b"".join(kind.chunks)
    except FileError:
        return Content(_format_by_name(path))
    if kind.format == "parquet":
        return _parquet(inside, kind.compression)
    return _avro(inside, kind.compression) if kind.format == "avro" else Content("json", kind.compression)


def _avro(content: bytes, compression: str | None) -> Content:
    try:
        header = read_header(content)
        codec = None if header.codec == "null" else header.codec
        return Content("avro", compression or codec, schema=from_avro(header.schema))
    except (FileError, ValueError):
        return Content("avro", compression)


def _parquet(content: bytes, compression: str | None) -> Content:
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), arrow_extensions_enabled=False)
    except pa.ArrowException:
        return Content("parquet", compression)
    codecs = {
        file.metadata.row_group(group).column(0).compression.lower()
        for group in range(file.metadata.num_row_groups)
        if file.metadata.num_columns
    }
    codec = compression or "/".join(sorted(codecs - {"uncompressed"})) or None
    return Content(
        "parquet", codec, schema=from_arrow(file.schema_arrow), says_meaning=has_avro_schema(file.schema_arrow)
    )


def _parse(value: str) -> Any:
    return json.loads(value, parse_float=JsonNumber, parse_constant=JsonNumber)
