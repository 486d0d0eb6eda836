"""A Spark session that runs one statement after the other and hands their results over as Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from enum import Enum
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import ParseException, PySparkException
from pyspark.rdd import _local_iterator_from_socket
from pyspark.serializers import FramedSerializer

from alluvium import session

from . import QueryError
from .values import arrow_type, transport_type

if TYPE_CHECKING:
    from types import TracebackType

    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from alluvium.profile import SessionTarget

T = TypeVar("T")

LOG_LEVEL = "ALLUVIUM_SPARK_LOG_LEVEL"
# A batch is whole in memory, in Java and here, and rows of raw lines are long; Spark's default is 10000.
ROWS_IN_A_BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}

# Names of the classes of Spark's commands that read (3.5, with Delta 3.3), by how they begin, and of those that change
# nothing but this session.
READING = ("Describe", "Explain", "List", "Show")
SETTING = frozenset(
    {"RefreshTable", "ResetCommand", "SetCatalogAndNamespace", "SetCatalogCommand", "SetCommand", "SetNamespaceCommand"}
)


class Kind(Enum):
    """What a statement does: reads, changes this session alone, changes anything else."""

    QUERY = "query"
    SETTING = "setting"
    CHANGE = "change"


class Result:
    """The rows of a statement, not fetched yet.

    Args:
        frame: the statement's DataFrame.
        limit: at most so many rows; all of them when None.
        check: called before each batch; ends the iteration by what it raises.
    """

    def __init__(self, frame: DataFrame, limit: int | None, check: Callable[[], None]) -> None:
        self._check = check
        self._limit = limit
        try:
            self.fields: list[StructField] = list(frame.schema)
        except (ValueError, PySparkException) as error:  # PySpark 3.5 cannot name Spark's type `interval`
            raise QueryError("A column has a type that cannot be shown: cast it to string.") from error
        self._frame = frame if limit is None else frame.limit(limit + 1)  # one more tells whether there are more
        self.is_cut = False

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

        After the last one `is_cut` says whether rows were left out.

        Raises:
            QueryError: Spark cannot compute them, or a value is none of its type.
        """
        schema = self.schema(is_plain=is_plain)
        left = self._limit
        for content in _arrow_batches(self._transport()):
            self._check()
            batch = pa.ipc.read_record_batch(pa.py_buffer(content), schema)
            if left is not None:
                self.is_cut = self.is_cut or batch.num_rows > left
                batch = batch.slice(0, left)
                left -= batch.num_rows
            for field, column in zip(self.fields, batch.columns, strict=True):
                _validate(field, column)
            yield batch

    def _transport(self) -> DataFrame:
        wanted = [transport_type(field.dataType) for field in self.fields]
        if wanted == [field.dataType for field in self.fields]:
            return self._frame
        by_number = self._frame.toDF(*map(str, range(len(wanted))))  # names may be there twice
        return by_number.select([by_number[str(number)].cast(as_type) for number, as_type in enumerate(wanted)])


class _Bytes(FramedSerializer):
    """Leaves the bytes of each element as they come."""

    def loads(self, obj: bytes) -> bytes:
        return obj


def _arrow_batches(frame: DataFrame) -> Iterator[bytes]:
    """The result as Arrow's record batches, partition by partition.

    PySpark 3.5.7 has Arrow for `toPandas` alone, which collects everything and needs pandas, and an iterator for rows
    alone, whose dates and timestamps are Python's.
    """
    rdd = frame._jdf.toArrowBatchRdd()
    socket = frame.sparkSession._jvm.PythonRDD.toLocalIteratorAndServe(rdd, True)  # type: ignore[union-attr]  # a live session has one
    return _local_iterator_from_socket(socket, _Bytes())


def _validate(field: StructField, column: pa.Array) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise QueryError(
            f"The column {field.name} has a value that is no {field.dataType.simpleString()} ({error}): "
            "hex() shows the bytes of a text."
        ) from error


class Engine:
    """Spark, started in a thread of its own, in which all statements run.

    A thread that waits for Spark cannot be interrupted: the answer that it has not read would be taken for that to the
    next question. So the calling thread waits for this one, and Ctrl-C cancels Spark's jobs.

    Args:
        target: what to run on.
        may_write: whether statements that change something are run.
        is_quiet: whether Spark's log is suppressed, its errors too: they are said in one sentence each.
        keeps_output: whether what Spark's process prints is kept out of the standard output.
    """

    def __init__(self, target: SessionTarget, *, may_write: bool, is_quiet: bool, keeps_output: bool) -> None:
        self.target = target
        self.may_write = may_write
        self.schema = target.schema
        self.has_schema = True
        self._cancelled = Event()
        self._thread = futures.ThreadPoolExecutor(1, thread_name_prefix="spark")
        self._session = self._thread.submit(self._start, is_quiet, keeps_output)

    def _start(self, is_quiet: bool, keeps_output: bool) -> SparkSession:
        parameters = {**ROWS_IN_A_BATCH, **self.target.parameters}
        with ExitStack() as meanwhile:
            if is_quiet:
                meanwhile.enter_context(_no_log())
            if keeps_output:
                meanwhile.enter_context(_output_is_error())
            spark = session.get_or_create(parameters, self.target.project_directory)
        with readable_errors():
            self.has_schema = spark.catalog.databaseExists(self.schema)
            if self.has_schema:
                spark.catalog.setCurrentDatabase(self.schema)
            else:
                self.schema = spark.catalog.currentDatabase()
        return spark

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True)

    @property
    def is_ready(self) -> bool:
        """Whether Spark has started."""
        return self._session.done() and self._session.exception() is None

    @property
    def spark(self) -> SparkSession:
        """The session; waits until it is there."""
        return self._session.result()

    def kind(self, statement: str) -> Kind:
        """What a statement does, by Spark's parser; nothing is run.

        Raises:
            QueryError: it is no statement.
        """
        return self.call(lambda: self._kind(statement))

    def _kind(self, statement: str) -> Kind:
        parser = self.spark._jsparkSession.sessionState().sqlParser()
        with readable_errors():
            command = str(parser.parsePlan(statement).getClass().getSimpleName())
        if command.startswith(READING):
            return Kind.QUERY
        if command in SETTING:
            return Kind.SETTING
        try:
            # Spark's grammar has queries, and nothing else, between these parentheses. The plan's own classes do not
            # tell: an INSERT may be below a WITH, and some of Delta's statements are no commands.
            parser.parsePlan(f"with statement as (\n{statement}\n) select 1")
        except ParseException:
            return Kind.CHANGE
        return Kind.QUERY

    def require_allowed(self, statement: str) -> Kind:
        """What a statement does.

        Raises:
            QueryError: it changes something and must not, or is no statement.
        """
        kind = self.kind(statement)
        if kind is Kind.CHANGE and not self.may_write:
            begin = " ".join(statement.split())
            raise QueryError(
                f"Not run, because it is no query: {begin[:60]}{'...' if len(begin) > 60 else ''} "
                "(alluvium sql only reads; --write lets it change tables)."
            )
        return kind

    def run(self, statement: str, show: Callable[[Result], T], limit: int | None = None) -> T:
        """Run a statement, and `show` with its result in the thread of Spark.

        Raises:
            QueryError: Spark has an error, in one sentence.
            KeyboardInterrupt: Ctrl-C; Spark's jobs are cancelled.
        """

        def work() -> T:
            spark = self.spark
            with readable_errors():
                shown = show(Result(spark.sql(statement), limit, self._check))
                self.schema = spark.catalog.currentDatabase()
            return shown

        return self.call(work)

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise QueryError("Cancelled.")

    def call(self, work: Callable[[], T]) -> T:
        """What `work` returns, done in the thread of Spark.

        Raises:
            KeyboardInterrupt: Ctrl-C; Spark's jobs are cancelled.
        """
        self._cancelled.clear()
        running = self._thread.submit(work)
        try:
            while not running.done():
                futures.wait([running], timeout=0.2)  # a signal that another thread has got wakes no one who waits
            return running.result()
        except KeyboardInterrupt:
            self._cancelled.set()
            running.cancel()  # where Spark is still starting
            while not running.done():
                if self.is_ready:
                    self.spark.sparkContext.cancelAllJobs()  # again, in case the next one has begun
                futures.wait([running], timeout=0.2)
            raise


@contextmanager
def _no_log() -> Iterator[None]:
    """A Spark that is started meanwhile has no log, unless the environment asks for one."""
    if LOG_LEVEL in os.environ:
        yield
        return
    os.environ[LOG_LEVEL] = "off"
    try:
        yield
    finally:
        del os.environ[LOG_LEVEL]


@contextmanager
def _output_is_error() -> Iterator[None]:
    """A process that is started meanwhile has the standard error as its standard output."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


@contextmanager
def readable_errors() -> Iterator[None]:
    """Errors of Spark as a `QueryError` of one sentence.

    Raises:
        QueryError: Spark has had an error.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        thrown: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
        raise QueryError(_message(thrown) if thrown is not None else _one_line(str(error))) from error


def _message(thrown: JavaObject) -> str:
    """What the innermost error says: those around it say that a job was aborted, or a result awaited."""
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    gateway = SparkContext._gateway
    has_plan = is_instance_of(gateway, thrown, "org.apache.spark.sql.AnalysisException")  # below the message
    said = thrown.getSimpleMessage() if has_plan else thrown.getMessage()
    return _one_line(said or thrown.getClass().getName())


def _one_line(message: str) -> str:
    """Without the query that Spark repeats below, and of a Python traceback the last line alone."""
    said = message.partition("== SQL")[0].strip()
    if "Traceback (most recent call last)" in said:
        said = said.splitlines()[-1]
    return " ".join(said.split())
