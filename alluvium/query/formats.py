"""A result as CSV, JSON lines or Parquet. No more than a few thousand rows are in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from . import QueryError
from .values import json_of, repeated, structs_in, text_of

if TYPE_CHECKING:
    from .result import Result

# RFC 4180 quotes what has a comma, a quote or a line's end. Blanks at the ends are quoted as some readers trim them.
_QUOTED_IN_CSV = re.compile(r'[",\r\n]|^\s|\s$')
BYTES_IN_A_ROW_GROUP = 64 * 1024**2


def rows(result: Result) -> Iterator[tuple[Any, ...]]:
    """The rows, with values as `values.text_of` and `values.json_of` take them."""
    for batch in result.batches(is_plain=True):
        if batch.num_columns:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_csv(result: Result, sink: BinaryIO) -> None:
    """RFC 4180 in UTF-8, with a heading. NULL is nothing, an empty text is ``""``."""
    columns = [text_of(field.dataType) for field in result.fields]
    found = rows(result)
    first = list(islice(found, 1))  # before the heading: a query that fails has none
    sink.write(_csv_line(result.names))
    for row in chain(first, found):
        sink.write(
            _csv_line([None if value is None else text(value) for text, value in zip(columns, row, strict=True)])
        )


def _csv_line(texts: Sequence[str | None]) -> bytes:
    return (",".join(map(_csv_field, texts)) + "\r\n").encode()


def _csv_field(text: str | None) -> str:
    if text is None:
        return ""
    if not text or _QUOTED_IN_CSV.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_json_lines(result: Result, sink: BinaryIO) -> None:
    """One JSON object a line, in UTF-8.

    Raises:
        QueryError: names are there twice, and an object cannot have them.
    """
    _require_distinct_names(result, "JSON")
    write = json_of(StructType(result.fields))
    for row in rows(result):
        sink.write(f"{write(dict(enumerate(row)))}\n".encode())


def write_parquet(result: Result, sink: BinaryIO) -> None:
    """Parquet with the columns' own types: decimal128, date32, timestamps in microseconds, nested ones.

    Raises:
        QueryError: names are there twice; hardly a reader could tell such columns apart.
    """
    _require_distinct_names(result, "Parquet")
    schema = result.schema(is_plain=False)
    with pq.ParquetWriter(pa.PythonFile(_Counted(sink), mode="w"), schema) as writer:
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in result.batches(is_plain=False):
            waiting.append(batch)
            size += batch.nbytes
            if size >= BYTES_IN_A_ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting, size = [], 0
        writer.write_table(pa.Table.from_batches(waiting, schema))


class _Counted:
    """A sink that knows how much was written: a pipe does not, and Parquet's footer needs it."""

    closed = False

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._written = 0

    def write(self, content: Any) -> int:
        self._sink.write(content)
        self._written += len(content)
        return len(content)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        """Left open: the sink is the caller's."""


def _require_distinct_names(result: Result, form: str) -> None:
    for names in (result.names, *(struct.names for field in result.fields for struct in structs_in(field.dataType))):
        for name in repeated(names):
            raise QueryError(
                f"{form} cannot tell columns of one name apart, and {name} is there twice: name them with as."
            )


WRITERS: dict[str, Callable[[Result, BinaryIO], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "parquet": write_parquet,
}
