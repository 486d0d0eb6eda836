"""The table function ``read_records(content, path)``: one row per record of one file."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from alluvium.spark_udfs.avro import MAGIC as AVRO_MAGIC
from alluvium.spark_udfs.avro import open_avro
from alluvium.spark_udfs.compression import CODECS, codec_of
from alluvium.spark_udfs.json_lines import json_records
from alluvium.spark_udfs.parquet import MAGIC as PARQUET_MAGIC
from alluvium.spark_udfs.parquet import open_parquet
from alluvium.spark_udfs.record import FileError, Opened, Record, Rejected, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "read_records"
RETURN_TYPE = "line bigint, value string, semantic_types map<string,string>, error string"

# Spark 3.5.7 collects the rows of one call and sends them to the JVM in one frame with a signed 32-bit length;
# past 2 GiB the task would fail and take the other files with it. Half of it leaves room for the rows' other columns.
MAX_TEXT_BYTES = 1 << 30
_LOOKED_AT = 1024

_CONTAINERS = (("avro", AVRO_MAGIC), ("parquet", PARQUET_MAGIC))
_OPEN = {"avro": open_avro, "parquet": open_parquet}
_MAGIC = [*(magic for _, magic in _CONTAINERS), *(codec.magic for codec in CODECS)]
# What is told by name, and not read.
_OTHERS = ((b"PK\x03\x04", "zip"), (b"ORC", "ORC"), (b"SEQ", "a SequenceFile of Hadoop's"), (b"7z\xbc\xaf", "7z"))
# As `_is_container` in macros/files/new_files.sql has them.
_COMPRESSED = re.compile(r"\.(?:gz|bz2|zst|zstd|snappy|lz4|lzo|xz|deflate)$", re.IGNORECASE)
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\r\x1e")


class Kind(NamedTuple):
    """What a file is by its content.

    Attributes:
        format: ``json``, ``avro`` or ``parquet``.
        compression: around the file, or None.
        chunks: of what is inside of the compression, the first of them long enough to tell what it is.
    """

    format: str
    compression: str | None
    chunks: Iterator[bytes]


def kind_of(content: bytes, path: str) -> Kind:
    """Tell a file by its content.

    Args:
        content: the file's.
        path: what its extension promises is what is missing from a file that is nothing else.

    Raises:
        FileError: it is nothing that can be read.
    """
    codec = codec_of(content)
    chunks = codec.inflate(content) if codec else iter((content,))
    start, broken = _beginning(chunks)
    chunks = itertools.chain((start,), _raised(broken) if broken else chunks)
    name = codec.name if codec else None
    promised = next((form for form, _ in _CONTAINERS if path.lower().endswith(f".{form}")), None)
    found = next((form for form, magic in _CONTAINERS if start.startswith(magic)), None)
    if found:
        return Kind(found, name, chunks)
    text = start.decode(json.detect_encoding(start[:4]), "ignore")
    if text.lstrip(" \t\r\n\x1e").startswith(("{", "[")):
        return Kind("json", name, chunks)
    if promised:
        return Kind(promised, name, chunks)
    if any(magic.startswith(content) for magic in _MAGIC):
        raise FileError("truncated", f"{len(content)} bytes")
    if not codec and ((start and _COMPRESSED.search(path)) or not _NO_TEXT.isdisjoint(start[:_LOOKED_AT])):
        said = next(
            (said for magic, said in _OTHERS if content.startswith(magic)), f"first bytes: {start[:4].hex(' ')}"
        )
        raise FileError("unknown_format", f"no JSON, Avro or Parquet, but {said}")
    return Kind("json", name, chunks)


def _beginning(chunks: Iterator[bytes]) -> tuple[bytes, FileError | None]:
    start = b""
    try:
        for chunk in chunks:
            start += chunk
            if len(start) >= _LOOKED_AT:
                break
    except FileError as error:
        return start, error
    return start, None


def _raised(error: FileError) -> Iterator[bytes]:
    raise error
    yield


def read_records(
    content: bytes | bytearray | None, path: str | None, max_text_bytes: int = MAX_TEXT_BYTES
) -> Iterator[Record]:
    """Read the records of one file.

    Args:
        content: the whole file; None gives one error row.
        path: its path or URL; looked at only where the content does not tell the format.
        max_text_bytes: how much text (bytes of UTF-8) may be given before the file is left with ``too_large``.

    Yields:
        The records in order; a single row with line 0 for a readable file without records. Where the file breaks,
        one row with an error after the records before the break. A record that is not valid UTF-8 has an
        error row in its place. Never raises.
    """
    line = 0
    text_bytes = 0
    try:
        semantic_types, values = _open(content, path or "")
        for value in values:
            line += 1
            if isinstance(value, Rejected):
                yield Record(line, None, None, value.error)
                continue
            text_bytes += len(value) if value.isascii() else len(value.encode("utf-8"))
            if text_bytes > max_text_bytes:
                line -= 1
                raise FileError("too_large", f"more than {max_text_bytes} bytes of text")
            yield Record(line, value, semantic_types, None)
    except FileError as error:
        yield Record(line + 1, None, None, str(error))
    except Exception as error:
        yield Record(line + 1, None, None, f"corrupt: {describe(error)}")
    else:
        if line == 0:
            yield Record(0, None, None, None)


def _open(content: bytes | bytearray | None, path: str) -> Opened:
    if content is None:
        raise FileError("no_content", "the file's content is NULL")
    kind = kind_of(bytes(content), path)
    if kind.format == "json":
        return None, json_records(kind.chunks)
    return _OPEN[kind.format](b"".join(kind.chunks))


class ReadRecords:
    """The table function's handler; all it does is in :func:`read_records`."""

    def eval(self, content: bytes | None, path: str | None) -> Iterator[Record]:
        """Give the rows of one file."""
        return read_records(content, path)
