"""Runs one statement after the other, whatever Spark it is that runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent import futures
from contextlib import AbstractContextManager
from enum import Enum
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from alluvium.runtime.profile import Target

from . import QueryError
from .formats import rows
from .statements import words

if TYPE_CHECKING:
    from types import TracebackType

    from .result import Result

T = TypeVar("T")

# How statements begin (Spark 3.5, with Delta 3.3 and Hudi 1.2): those that read and are no queries, those that change
# nothing but the session, and queries, of which WITH and FROM begin statements that change something, too.
READING = frozenset({"desc", "describe", "explain", "list", "show"})
SETTING = frozenset({"reset", "set", "use"})
# A procedure of Hudi's that shows, and deletes what it shows where it is told to (1.2).
DELETING = "show_invalid_parquet"
QUERYING = frozenset({"(", "from", "map", "reduce", "select", "table", "values", "with"})


class Kind(Enum):
    """What a statement does: reads, changes the session alone, changes anything else."""

    QUERY = "query"
    SETTING = "setting"
    CHANGE = "change"


def kind_of_command(statement: str) -> Kind | None:
    """What a statement does by how it begins; None where it may be a query."""
    begin = words(statement)[:4]
    if begin[:1] and (begin[0] in READING or _shows(begin)):
        return Kind.QUERY
    if begin[:2] == ["refresh", "table"] or (begin[:1] and begin[0] in SETTING):
        return Kind.SETTING
    return None if begin[:1] and begin[0] in QUERYING else Kind.CHANGE


def _shows(begin: list[str]) -> bool:
    """Whether a statement begins as a call of a procedure of Hudi's that only shows, as `call show_commits`."""
    if begin[0] != "call":
        return False
    name = begin[1:2] if begin[1:3] != ["system", "."] else begin[3:4]
    return name != [DELETING] and name[:1] != [] and name[0].startswith("show_")


def refused(statement: str) -> QueryError:
    """What to say of a statement that must not run."""
    begin = " ".join(statement.split())
    return QueryError(
        f"Not run, because it is no query: {begin[:60]}{'...' if len(begin) > 60 else ''} "
        "(alluvium sql only reads; --write lets it change tables)."
    )


class Engine(ABC):
    """Spark, reached in a thread of its own, in which all statements run.

    A thread that waits for Spark cannot be interrupted: the answer that it has not read would be taken for that to the
    next question. So the calling thread waits for this one, and Ctrl-C cancels what Spark does.

    Attributes:
        target: what it runs on.
        schema: the current one.
        has_schema: whether the target's schema is there.
    """

    def __init__(self, target: Target, *, may_write: bool) -> None:
        """Begins to reach Spark, and does not wait for it.

        Args:
            target: what to run on.
            may_write: whether statements that change something are run.
        """
        self.target = target
        self.schema = target.schema
        self.has_schema = True
        self._may_write = may_write
        self._cancelled = Event()
        self._thread = futures.ThreadPoolExecutor(1, thread_name_prefix="spark")
        self._started = self._thread.submit(self._start)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_ready:
            self.call(self._end)
        self._thread.shutdown(wait=True)

    @property
    def is_ready(self) -> bool:
        """Whether Spark is reached."""
        return self._started.done() and self._started.exception() is None

    def wait(self) -> None:
        """Wait until Spark is reached.

        Raises:
            AlluviumError: it is not.
        """
        self._started.result()

    def kind(self, statement: str) -> Kind:
        """What a statement does; nothing is run.

        Raises:
            QueryError: it is no statement.
        """
        return self.call(lambda: self._kind(statement))

    def require_allowed(self, statement: str) -> Kind:
        """What a statement does.

        Raises:
            QueryError: it changes something and must not, or is no statement.
        """
        kind = self.kind(statement)
        if kind is Kind.CHANGE and not self._may_write:
            raise refused(statement)
        return kind

    def run(self, statement: str, show: Callable[[Result], T], limit: int | None = None) -> T:
        """Run a statement, and `show` with its result in the thread of Spark.

        Raises:
            QueryError: Spark has an error, in one sentence.
            KeyboardInterrupt: Ctrl-C; what Spark does for the statement is cancelled.
        """

        def work() -> T:
            with self._executed(statement, limit) as result:
                return show(result)

        return self.call(work)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of a statement, with values as `formats.rows` has them.

        Raises:
            QueryError: Spark has an error, in one sentence.
        """
        return self.run(statement, lambda result: list(rows(result)))

    def call(self, work: Callable[[], T]) -> T:
        """What `work` returns, done in the thread of Spark.

        Raises:
            KeyboardInterrupt: Ctrl-C; what Spark does is cancelled.
        """
        self._cancelled.clear()
        running = self._thread.submit(self._work, work)
        try:
            while not running.done():
                futures.wait([running], timeout=0.2)  # a signal that another thread has got wakes no one who waits
            return running.result()
        except KeyboardInterrupt:
            self._cancelled.set()
            running.cancel()  # where Spark is still starting
            while not running.done():
                if self.is_ready:
                    self._cancel()  # again, in case the next job has begun
                futures.wait([running], timeout=0.2)
            raise

    def _work(self, work: Callable[[], T]) -> T:
        self.wait()
        return work()

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise QueryError("Cancelled.")

    @abstractmethod
    def _start(self) -> None:
        """Reach Spark, and make the target's schema the current one, where it is there."""

    @abstractmethod
    def _end(self) -> None:
        """Leave Spark."""

    @abstractmethod
    def _kind(self, statement: str) -> Kind:
        """See `kind`."""

    @abstractmethod
    def _executed(self, statement: str, limit: int | None) -> AbstractContextManager[Result]:
        """The result of a statement, as long as it is looked at; `schema` is then the current one."""

    @abstractmethod
    def _cancel(self) -> None:
        """Cancel what Spark does; called in the thread that waits."""
