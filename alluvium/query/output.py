"""Where results go, and what is said beside them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pyspark.sql.types import (
    BooleanType,
    DateType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)
from rich.console import Console
from rich.text import Text

from . import ROWS_ON_A_TERMINAL, Format, QueryError
from .formats import WRITERS, rows
from .table import Column, Layout, lay_out, shown
from .values import text_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

    from .result import Result


def say(message: str) -> None:
    """Tell the user something that is no result: on the standard error."""
    Console(stderr=True, soft_wrap=True).print(Text(message, style="dim"))


@dataclass(frozen=True)
class Output:
    """How results are shown.

    Attributes:
        form: the format.
        file: to write to instead of the standard output.
        limit: at most so many rows of a result; 0 is all, None all but for tables on a terminal.
    """

    form: Format
    file: Path | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        """Raises a `QueryError` where Parquet would go to a terminal."""
        if self.form is Format.parquet and self.file is None and sys.stdout.isatty():
            raise QueryError("Parquet is not for a terminal: name a file with --output, or pipe it.")

    @property
    def is_for_terminal(self) -> bool:
        """Whether somebody looks at a table that has to fit."""
        return self.form is Format.table and self.file is None and sys.stdout.isatty()

    @property
    def rows(self) -> int | None:
        """At most so many rows of a result; None is all."""
        if self.limit is None:
            return ROWS_ON_A_TERMINAL if self.is_for_terminal else None
        return self.limit or None

    @property
    def holds_one_result(self) -> bool:
        """Whether a second result would spoil the first one for its reader."""
        return self.form is not Format.table

    def show(self, result: Result) -> None:
        """Write a result in the format; what was left out is said."""
        if not result.fields:
            return
        if self.form is Format.table:
            layout = lay_out(
                [_column(field) for field in result.fields],
                _texts(result),
                Console().width if self.is_for_terminal else None,
            )
            self.write_table(layout)
        else:
            with self._sink() as sink:
                WRITERS[self.form.value](result, sink)
        if result.is_cut:
            say(f"The first {self.rows:,} rows; --limit 0 shows all.")

    def write_table(self, layout: Layout) -> None:
        """Write a table that is laid out; values that were shortened are counted."""
        if self.is_for_terminal:
            console = Console(soft_wrap=True, highlight=False)
            for line in layout.lines:
                console.print(Text.assemble(*line))
        else:
            with self._sink() as sink:
                for line in layout.lines:
                    sink.write(("".join(text for text, _ in line) + "\n").encode())
        if layout.cut:
            say(f"{layout.cut:,} values are shortened to fit (…); --format csv has them whole.")

    @contextlib.contextmanager
    def _sink(self) -> Iterator[BinaryIO]:
        """The standard output, or the file: it has the whole result or is not there."""
        if self.file is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        partial = self.file.with_name(f".{self.file.name}.partial")
        try:
            with partial.open("wb") as sink:
                yield sink
            partial.replace(self.file)
        except OSError as error:
            raise QueryError(f"{self.file} cannot be written: {error.strerror or error}.") from error
        finally:
            partial.unlink(missing_ok=True)


def _column(field: StructField) -> Column:
    is_number = isinstance(field.dataType, NumericType)
    is_whole = is_number or isinstance(field.dataType, BooleanType | DateType | TimestampType | TimestampNTZType)
    return Column(field.name, is_number, may_be_cut=not is_whole)


def _texts(result: Result) -> Iterator[list[str | None]]:
    columns = [text_of(field.dataType) for field in result.fields]
    for row in rows(result):
        yield [None if value is None else shown(text(value)) for text, value in zip(columns, row, strict=True)]
