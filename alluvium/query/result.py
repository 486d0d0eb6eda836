"""The rows of a statement, as Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from . import QueryError
from .values import arrow_type, transport_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

# A batch is whole in memory, at Spark's side and here, and rows of raw lines are long.
ROWS_IN_A_BATCH = 1000


class Result(ABC):
    """The rows of a statement, not fetched yet.

    Attributes:
        fields: the columns.
        is_cut: after the last batch, whether rows were left out.
    """

    def __init__(self, fields: list[StructField], limit: int | None, check: Callable[[], None]) -> None:
        """Does not run anything.

        Args:
            fields: the columns, with Spark's types.
            limit: at most so many rows; all of them when None.
            check: called before each batch; ends the iteration by what it raises.
        """
        self.fields = fields
        self.is_cut = False
        self._limit = limit
        self._check = check

    @property
    def names(self) -> list[str]:
        """The columns' names, some perhaps more than once."""
        return [field.name for field in self.fields]

    def schema(self, *, is_plain: bool) -> pa.Schema:
        """The Arrow schema of the batches; see `values.arrow_type` for `is_plain`."""
        return pa.schema(
            [
                pa.field(field.name, arrow_type(transport_type(field.dataType), is_plain=is_plain))
                for field in self.fields
            ]
        )

    def batches(self, *, is_plain: bool) -> Iterator[pa.RecordBatch]:
        """The rows, in the result's order and in parts of which few are in memory at a time.

        Raises:
            QueryError: Spark cannot compute them, or a value is none of its type.
        """
        schema = self.schema(is_plain=is_plain)
        left = self._limit
        for content in self._contents():
            self._check()
            batch = pa.ipc.read_record_batch(pa.py_buffer(content), schema)
            if left is not None:
                self.is_cut = self.is_cut or batch.num_rows > left
                batch = batch.slice(0, left)
                left -= batch.num_rows
            for field, column in zip(self.fields, batch.columns, strict=True):
                _validate(field, column)
            yield batch

    @abstractmethod
    def _contents(self) -> Iterator[bytes | pa.Buffer]:
        """Record batches as Arrow writes them, of the types of `values.transport_type`.

        Where there is a limit they may have more rows, and have one more where there is one.
        """


def _validate(field: StructField, column: pa.Array) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise QueryError(
            f"The column {field.name} has a value that is no {field.dataType.simpleString()} ({error}): "
            "hex() shows the bytes of a text."
        ) from error
