"""A Spark session in this process, which hands results over as Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import ParseException, PySparkException
from pyspark.rdd import _local_iterator_from_socket
from pyspark.serializers import FramedSerializer

from alluvium.runtime import session

from . import QueryError
from .engine import Engine, Kind, kind_of_command
from .result import ROWS_IN_A_BATCH, Result
from .values import transport_type

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from alluvium.runtime.profile import SessionTarget

LOG_LEVEL = "ALLUVIUM_SPARK_LOG_LEVEL"
BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_IN_A_BATCH)}


class EmbeddedResult(Result):
    """The rows of a DataFrame.

    Args:
        frame: the statement's DataFrame.
        limit: see `Result`.
        check: see `Result`.
    """

    def __init__(self, frame: DataFrame, limit: int | None, check: Callable[[], None]) -> None:
        super().__init__(_fields(frame), limit, check)
        self._frame = frame if limit is None else frame.limit(limit + 1)  # one more tells whether there are more

    def _contents(self) -> Iterator[bytes]:
        """PySpark 3.5.7 has Arrow for `toPandas` alone, which collects everything and needs pandas.

        Its iterator is for rows alone, whose dates and timestamps are Python's.
        """
        frame = self._transport()
        rdd = frame._jdf.toArrowBatchRdd()
        socket = frame.sparkSession._jvm.PythonRDD.toLocalIteratorAndServe(rdd, True)  # type: ignore[union-attr]  # a live session has one
        yield from _local_iterator_from_socket(socket, _Bytes())

    def _transport(self) -> DataFrame:
        wanted = [transport_type(field.dataType) for field in self.fields]
        if wanted == [field.dataType for field in self.fields]:
            return self._frame
        by_number = self._frame.toDF(*map(str, range(len(wanted))))  # names may be there twice
        return by_number.select([by_number[str(number)].cast(as_type) for number, as_type in enumerate(wanted)])


def _fields(frame: DataFrame) -> list[StructField]:
    try:
        return list(frame.schema)
    except (ValueError, PySparkException) as error:  # PySpark 3.5 cannot name Spark's type `interval`
        raise QueryError("A column has a type that cannot be shown: cast it to string.") from error


class _Bytes(FramedSerializer):
    """Leaves the bytes of each element as they come."""

    def loads(self, obj: bytes) -> bytes:
        return obj


class EmbeddedEngine(Engine):
    """A session that is started, or the one that this process has.

    Args:
        target: what to run on.
        may_write: whether statements that change something are run.
        is_quiet: whether Spark's log is suppressed, its errors too: they are said in one sentence each.
        keeps_output: whether what Spark's process prints is kept out of the standard output.
    """

    _spark: SparkSession
    _schema_before: str

    def __init__(self, target: SessionTarget, *, may_write: bool, is_quiet: bool, keeps_output: bool) -> None:
        self._parameters = {**BATCHES, **target.parameters}
        self._is_quiet = is_quiet
        self._keeps_output = keeps_output
        super().__init__(target, may_write=may_write)

    def _start(self) -> None:
        with ExitStack() as meanwhile:
            if self._is_quiet:
                meanwhile.enter_context(_no_log())
            if self._keeps_output:
                meanwhile.enter_context(_output_is_error())
            self._spark = session.get_or_create(self._parameters, self.target.project_directory)
        catalog = self._spark.catalog
        with readable_errors():
            self._schema_before = catalog.currentDatabase()
            self.has_schema = catalog.databaseExists(self.schema)
            if self.has_schema:
                catalog.setCurrentDatabase(self.schema)
            else:
                self.schema = self._schema_before

    def _end(self) -> None:
        """The session goes on, for others in this process."""
        with suppress(QueryError), readable_errors():
            self._spark.catalog.setCurrentDatabase(self._schema_before)

    def _kind(self, statement: str) -> Kind:
        parser = self._spark._jsparkSession.sessionState().sqlParser()
        with readable_errors():
            parser.parsePlan(statement)
        kind = kind_of_command(statement)
        if kind is not None:
            return kind
        try:
            # Spark's grammar has queries, and nothing else, between these parentheses. The plan's own classes do not
            # tell: an INSERT may be below a WITH.
            parser.parsePlan(f"with statement as (\n{statement}\n) select 1")
        except ParseException:
            return Kind.CHANGE
        return Kind.QUERY

    @contextmanager
    def _executed(self, statement: str, limit: int | None) -> Iterator[EmbeddedResult]:
        with readable_errors():
            yield EmbeddedResult(self._spark.sql(statement), limit, self._check)
            self.schema = self._spark.catalog.currentDatabase()

    def _cancel(self) -> None:
        self._spark.sparkContext.cancelAllJobs()


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
