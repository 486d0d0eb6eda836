"""The table function ``read_records(content, path)``: one row per record of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alluvium.spark_udfs.avro import MAGIC as AVRO_MAGIC
from alluvium.spark_udfs.avro import open_avro
from alluvium.spark_udfs.json_lines import MAGIC as GZIP_MAGIC
from alluvium.spark_udfs.json_lines import open_json_lines
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

_FORMATS = (
    (AVRO_MAGIC, ".avro", open_avro),
    (PARQUET_MAGIC, ".parquet", open_parquet),
    (GZIP_MAGIC, ".gz", open_json_lines),
)


def read_records(
    content: bytes | bytearray | None, path: str | None, max_text_bytes: int = MAX_TEXT_BYTES
) -> Iterator[Record]:
    """Read the records of one file.

    Args:
        content: the whole file; None gives one error row.
        path: its path or URL; looked at only where the first bytes do not tell the format.
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
    for magic, _, open_format in _FORMATS:
        if content[: len(magic)] == magic:
            return open_format(bytes(content))
    for _, extension, open_format in _FORMATS:
        if path.lower().endswith(extension):
            return open_format(bytes(content))
    start = bytes(content[:4]).hex(" ") or "none"
    raise FileError("unknown_format", f"neither gzip, Avro nor Parquet; first bytes: {start}")


class ReadRecords:
    """The table function's handler; all it does is in :func:`read_records`."""

    def eval(self, content: bytes | None, path: str | None) -> Iterator[Record]:
        """Give the rows of one file."""
        return read_records(content, path)
