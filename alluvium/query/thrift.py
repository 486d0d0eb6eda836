"""A session of a Spark Thrift server, whose results are rebuilt as Arrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyhive import exc  # type: ignore[import-untyped]  # it has no annotations
from pyspark.sql import types
from pyspark.sql.types import StructField
from TCLIService import ttypes  # type: ignore[import-untyped]  # the same

from alluvium import AlluviumError
from alluvium.server import client
from alluvium.server.client import FAILURES

from . import QueryError
from .engine import Engine, Kind, kind_of_command, refused
from .names import quoted
from .result import ROWS_IN_A_BATCH, Result
from .statements import words
from .wire import Decode, received, record_batch, scalar_type, sent

if TYPE_CHECKING:
    from alluvium.runtime.profile import ThriftTarget

# Behind WITH or FROM, what the server's parser takes for no query may be one of these statements.
DML = frozenset({"delete", "insert", "merge", "update"})
# What HiveServer2 has of its own for a column of a command; all else is text.
PLAIN: dict[str, types.DataType] = {
    "BOOLEAN_TYPE": types.BooleanType(),
    "TINYINT_TYPE": types.ByteType(),
    "SMALLINT_TYPE": types.ShortType(),
    "INT_TYPE": types.IntegerType(),
    "BIGINT_TYPE": types.LongType(),
    "DOUBLE_TYPE": types.DoubleType(),
}
TIMES = "TIMESTAMP_TYPE"
UTC = [("UTC",)]
RUNNING = (
    ttypes.TOperationState.INITIALIZED_STATE,
    ttypes.TOperationState.PENDING_STATE,
    ttypes.TOperationState.RUNNING_STATE,
)


class ServerError(QueryError):
    """An error of the server's, in one sentence.

    Attributes:
        is_of_parser: whether the statement could not be parsed.
    """

    def __init__(self, text: str) -> None:
        """Takes the sentence out of a trace of Java."""
        self.is_of_parser = "spark.sql.catalyst.parser.ParseException" in text
        super().__init__(sentence(text))


def sentence(text: str) -> str:
    r"""What the innermost error of a trace says, without the query and the plan that Spark repeats below it.

    >>> sentence("a.B: Error running query: a.C: It ended.\n\tat a.b(c:1)\nCaused by: a.D: It\nbroke.\n\tat d\n")
    'It broke.'
    """
    message = re.split(r"^Caused by: ", text, flags=re.MULTILINE)[-1]
    message = message.partition("\n\tat ")[0].partition("Driver stacktrace:")[0]
    message = message.partition("HiveSQLException: Error running query: ")[2] or message
    # Its code before the error's class, which has it again; then the class, then what is below the message.
    message = re.sub(r"^(?:\[[\w.]+\] )?[\w.$]+\.[\w$]+: ", "", message, count=1)
    message = message.partition("== SQL")[0]
    message = re.split(r";\n(?=['+A-Z])", message)[0].strip()
    if "Traceback (most recent call last)" in message:
        message = message.splitlines()[-1]
    return " ".join(re.sub(r"\(line (\d+), pos (\d+)\)$", r"; line \1 pos \2", message).split())


@contextmanager
def readable_errors(target: ThriftTarget) -> Iterator[None]:
    """Errors of PyHive as a `QueryError` of one sentence.

    Raises:
        QueryError: the server has had an error, or has gone.
    """
    try:
        yield
    except exc.OperationalError as error:
        raise ServerError(client.said(error)) from error
    except FAILURES as error:
        raise QueryError(
            f"The server at {target.host}:{target.port} has ended the connection: alluvium serve status."
        ) from error


@contextmanager
def of_the_second_line() -> Iterator[None]:
    """Errors of what stands in a line below another one, with the line that it has by itself."""
    try:
        yield
    except ServerError as error:
        moved = re.sub(r"; line (\d+) pos", lambda match: f"; line {int(match[1]) - 1} pos", str(error))
        error.args = (moved,)
        raise


class ServedResult(Result):
    """Rows that a server sends.

    Args:
        fields: the columns.
        decoders: for the values of each.
        execute: has the server run the statement, and returns the cursor of its rows.
        limit: see `Result`.
        check: see `Result`.
    """

    def __init__(
        self,
        fields: list[StructField],
        decoders: list[Decode],
        execute: Callable[[], Any],
        limit: int | None,
        check: Callable[[], None],
    ) -> None:
        super().__init__(fields, limit, check)
        self._decoders = decoders
        self._execute = execute

    def _contents(self) -> Iterator[pa.Buffer]:
        with closing(self._execute()) as cursor:
            while rows := cursor.fetchmany(ROWS_IN_A_BATCH):
                yield record_batch(self.fields, self._decoders, rows)


class ThriftEngine(Engine):
    """A connection to a server.

    Args:
        target: what to connect to.
        may_write: whether statements that change something are run.
    """

    target: ThriftTarget
    _connection: Any
    _operation: Any = None  # the one that runs

    def __init__(self, target: ThriftTarget, *, may_write: bool) -> None:
        super().__init__(target, may_write=may_write)

    def _start(self) -> None:
        self._connection = client.connect(self.target)
        with readable_errors(self.target):
            schemas = [schema.lower() for (schema,) in self._answer("show schemas")]
            self.has_schema = self.schema.lower() in schemas
            if not self.has_schema:
                self.schema = self._current_schema()

    def _end(self) -> None:
        with suppress(QueryError, *FAILURES):
            # All clients have one session; this schema is what the next one that connects makes current again.
            self._answer("use default")
            self._connection.close()

    def _current_schema(self) -> str:
        ((schema,),) = self._answer("select current_schema()")
        return str(schema)

    def _kind(self, statement: str) -> Kind:
        kind = kind_of_command(statement)
        if kind is not None:
            return kind
        with readable_errors(self.target):
            self._enter_schema()
            try:
                return Kind.CHANGE if self._described(statement) is None else Kind.QUERY
            except ServerError as error:
                if error.is_of_parser:
                    raise
                return Kind.QUERY  # with an error, perhaps since what it needs is made by a statement before it

    def _enter_schema(self) -> None:
        """Others may have said ``use`` meanwhile: dbt does whenever it connects."""
        self._answer(f"use {quoted(self.schema)}")

    def _described(self, statement: str) -> list[tuple[str, str]] | None:
        """Names and types of a query's columns; None where it may be a statement that changes something.

        ``describe query`` takes queries and nothing else, and runs none.

        Raises:
            ServerError: the query has an error.
        """
        try:
            with of_the_second_line():
                return [(name, text) for name, text, _ in self._answer(f"describe query\n{statement}")]
        except ServerError as error:
            found = words(statement)
            if error.is_of_parser and found[0] in ("from", "with") and not DML.isdisjoint(found):
                return None
            raise

    def _fields(self, query: str, described: list[tuple[str, str]]) -> list[StructField]:
        """The columns of a query with their types.

        The names of types quote no names of fields (Spark 3.5), and leave some out where there are more than 25: so
        those of nested values are asked for, one level after the other.
        """
        return [
            StructField(name, self._type(query, number, len(described), text))
            for number, (name, text) in enumerate(described)
        ]

    def _type(self, query: str, number: int, columns: int, text: str) -> types.DataType:
        nesting = text.partition("<")[0]
        if nesting not in ("array", "map", "struct"):
            return scalar_type(text)
        column = f"inline(array(c{number}))" if nesting == "struct" else f"explode(c{number})"
        inner = f"select {column} from {_numbered(query, columns)}"
        fields = self._fields(inner, self._described(inner) or [])
        if nesting == "struct":
            return types.StructType(fields)
        if nesting == "array":
            return types.ArrayType(fields[0].dataType)
        return types.MapType(fields[0].dataType, fields[1].dataType)

    @contextmanager
    def _executed(self, statement: str, limit: int | None) -> Iterator[Result]:
        with readable_errors(self.target):
            self._enter_schema()
            described = None if kind_of_command(statement) else self._described(statement)
            if described is not None:
                yield self._query(statement, described, limit)
                return
            if not self._may_write and kind_of_command(statement) in (None, Kind.CHANGE):
                raise refused(statement)
            with closing(self._execute(statement)) as cursor:
                yield self._command(cursor, limit)
            if words(statement)[0] == "use":
                self.schema = self._current_schema()

    def _query(self, statement: str, described: list[tuple[str, str]], limit: int | None) -> Result:
        """A query's result. It is sent between the parentheses of another query, where nothing changes anything."""
        fields = self._fields(statement, described)
        columns = ", ".join(f"{sent(field.dataType, f'c{number}')} as c{number}" for number, field in enumerate(fields))
        wrapped = f"select {columns} from {_numbered(statement, len(fields))}"
        if limit is not None:
            wrapped += f" limit {limit + 1}"  # one more tells whether there are more
        decoders = [received(field.dataType) for field in fields]
        return ServedResult(fields, decoders, lambda: self._execute(wrapped), limit, self._check)

    def _command(self, cursor: Any, limit: int | None) -> Result:
        description = [] if client.has_no_result(cursor.description) else cursor.description
        # The server's times are texts without a zone, in that of the session.
        is_utc = TIMES in (kind for _, kind, *_ in description) and self._answer("select current_timezone()") == UTC
        kinds = {**PLAIN, TIMES: types.TimestampType()} if is_utc else PLAIN
        fields = [StructField(name, kinds.get(kind, types.StringType())) for name, kind, *_ in description]
        decoders = [DECODERS.get(type(field.dataType), _same) for field in fields]
        return ServedResult(fields, decoders, lambda: cursor, limit, self._check)

    def _execute(self, statement: str) -> Any:
        """A cursor of what has ended."""
        self._check()
        cursor = self._connection.cursor(arraysize=ROWS_IN_A_BATCH)
        try:
            cursor.execute(statement, async_=True)
            self._operation = cursor._operationHandle
            while (ended := cursor.poll(get_progress_update=False)).operationState in RUNNING:
                self._check()
            if ended.operationState != ttypes.TOperationState.FINISHED_STATE:
                raise ServerError(ended.errorMessage or "Cancelled.")
        except exc.OperationalError as error:
            raise ServerError(client.said(error)) from error
        except BaseException:
            cursor.close()
            raise
        finally:
            self._operation = None
        return cursor

    def _answer(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement of this module's own."""
        with closing(self._execute(statement)) as cursor:
            return [] if client.has_no_result(cursor.description) else list(cursor.fetchall())

    def _cancel(self) -> None:
        """Over a connection of its own: the first one may wait for an answer."""
        operation = self._operation
        if operation is None:
            return
        with suppress(AlluviumError, *FAILURES), closing(client.connect(self.target)) as second:
            second.client.CancelOperation(ttypes.TCancelOperationReq(operation))


def _numbered(query: str, columns: int) -> str:
    """A query as a table whose columns have numbers: their own names may be there twice."""
    return f"(\n{query}\n) as result({', '.join(f'c{number}' for number in range(columns))})"


def _text(value: Any) -> bytes:
    return str(value).encode()


def _instant(value: datetime) -> int:
    return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _same(value: Any) -> Any:
    return value


DECODERS: dict[type[types.DataType], Decode] = {types.StringType: _text, types.TimestampType: _instant}
