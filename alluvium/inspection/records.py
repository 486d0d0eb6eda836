"""The records of one object, and the schema that describes their row."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from alluvium.spark_udfs import read_records
from alluvium.spark_udfs.avro import MAGIC as AVRO_MAGIC
from alluvium.spark_udfs.json_lines import MAGIC as GZIP_MAGIC
from alluvium.spark_udfs.parquet import MAGIC as PARQUET_MAGIC

from .schemas import Schema, from_arrow, from_avro, has_avro_schema
from .types import JsonNumber

if TYPE_CHECKING:
    from collections.abc import Iterator


NO_BYTES = "truncated: 0 bytes, and Spark lists no such file"
"""What is wrong with a file of which nothing was written."""
_UNSUPPORTED = {b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4", b"PK\x03\x04": "zip"}


@dataclass
class Content:
    """What an object holds.

    Attributes:
        format: ``json``, ``avro`` or ``parquet``, by its first bytes.
        compression: ``gzip`` of JSON lines, the codec of a container; None without one.
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
    """Read an object as the models do: by its first bytes, then by its extension.

    Args:
        content: all of it, or its beginning.
        path: looked at only where the first bytes do not tell the format.
        is_cut: True where it is the beginning: what breaks at its end is then no error.
        text_bytes: of a file that is compressed, as much of its records; None for all of them.
    """
    unsupported = next((name for magic, name in _UNSUPPORTED.items() if content.startswith(magic)), None)
    if unsupported:
        return Content("json", errors=[(0, f"unknown_format: {unsupported}; JSON lines are read plain or with gzip")])
    found = _recognise(content, path)
    found.is_cut = is_cut
    if not content and (found.format != "json" or found.compression):
        found.errors.append((0, NO_BYTES))
        return found
    records = (
        _plain_lines(content, is_cut=is_cut)
        if found.format == "json" and not found.compression
        else ((record.line, record.value, record.error) for record in read_records(content, path))
    )
    for line, value, error in records:
        found.text_bytes += len(value or "")
        if text_bytes is not None and found.text_bytes > text_bytes:
            found.is_cut = True
            break
        if error is not None:
            if not is_cut:
                found.errors.append((line, error))
        elif value is not None and value.strip():
            try:
                found.lines.append((line, _parse(value)))
            except ValueError:
                found.errors.append((line, "malformed_json: no JSON record"))
            except RecursionError:
                found.errors.append((line, "malformed_json: nested too deeply"))
    return found


def _recognise(content: bytes, path: str) -> Content:
    if content.startswith(AVRO_MAGIC):
        return _avro(content)
    if content.startswith(PARQUET_MAGIC) or path.lower().endswith(".parquet"):
        return _parquet(content)
    if content.startswith(GZIP_MAGIC) or path.lower().endswith(".gz"):
        return Content("json", "gzip")
    return Content("avro") if path.lower().endswith(".avro") else Content("json")


def _avro(content: bytes) -> Content:
    try:
        metadata = fastavro.reader(BytesIO(content)).metadata
        codec = metadata.get("avro.codec", "null")
        return Content(
            "avro", None if codec == "null" else codec, schema=from_avro(json.loads(metadata["avro.schema"]))
        )
    except (ValueError, EOFError, KeyError):
        return Content("avro")


def _parquet(content: bytes) -> Content:
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), arrow_extensions_enabled=False)
        codecs = {
            file.metadata.row_group(group).column(0).compression.lower()
            for group in range(file.metadata.num_row_groups)
            if file.metadata.num_columns
        }
        codec = "/".join(sorted(codecs - {"uncompressed"})) or None
        return Content(
            "parquet", codec, schema=from_arrow(file.schema_arrow), says_meaning=has_avro_schema(file.schema_arrow)
        )
    except pa.ArrowException:
        return Content("parquet")


def _plain_lines(content: bytes, *, is_cut: bool) -> Iterator[tuple[int, str | None, str | None]]:
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    # What follows the last line ending is an empty text, or a line that the cut may have shortened.
    if is_cut or not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            yield number, line.removesuffix(b"\r").decode("utf-8"), None
        except UnicodeDecodeError as error:
            yield number, None, f"invalid_utf8: byte 0x{line[error.start]:02x} at {error.start}"


def _parse(value: str) -> Any:
    return json.loads(value, parse_float=JsonNumber, parse_constant=JsonNumber)
