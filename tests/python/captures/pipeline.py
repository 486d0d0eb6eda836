"""Runs dbt over the corpora, one checkpoint after the other, and keeps what the silver tables held at each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.cli.main import dbtRunner

from .canonical import fetch_expression, from_spark
from .comparison import Row
from .corpora import Checkpoint, Corpus, Layout, Table
from .landing import land
from .project import REPOSITORY, SILVER_SCHEMA, Feed, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Two builds of one table number their batches differently, and Hudi has its commits and files in columns; everything
# else has to be equal.
OF_BUILD = ("_cdc_batch", "_hoodie_")


@dataclass(frozen=True)
class Case:
    """One table of one layout of one corpus at one checkpoint."""

    corpus: Corpus
    layout: Layout
    table: Table
    checkpoint: Checkpoint

    @property
    def id(self) -> str:
        """As the tests name it: ``pg-flat-json-confluent-json-orders-02-after-widening``."""
        return f"{self.corpus.name}-{self.layout.name}-{self.table.name}-{self.checkpoint.name}"

    @property
    def round(self) -> int:
        """Index of the checkpoint within its corpus, from the end: -1 for the last one.

        Corpora have different numbers of checkpoints; counted like this they all end in one run of dbt.
        """
        checkpoints = self.corpus.checkpoints
        return checkpoints.index(self.checkpoint) - len(checkpoints)


@dataclass(frozen=True)
class Held:
    """What was there after a run: of the living rows and of the change log.

    Attributes:
        rows: living rows, canonical text by column; of a table without key each as often as it has it.
        operations: change events in the log by op.
        kinds: rows of the log by kind.
        reject_reasons: rejected rows of the log by reason.
    """

    rows: list[Row]
    operations: dict[str, int]
    kinds: dict[str, int]
    reject_reasons: dict[str, int]


class PipelineError(Exception):
    """A dbt node failed, or its relation cannot be read."""


class Pipeline:
    """The project over some cases, run checkpoint by checkpoint, each once.

    One dbt invocation loads the next files of every corpus and layout. What the tables held after it is read at
    once, so that later runs do not matter to it.
    """

    def __init__(
        self,
        folder: Path,
        cases: Iterable[Case],
        rebuilt: Iterable[Case] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Writes the project.

        Args:
            folder: empty folder for the project and the landed files.
            cases: every case that will be asked for; a table is built at the checkpoints of its cases only.
            rebuilt: cases whose tables are built whenever dbt runs, and in the end anew.
            variables: dbt's, on each command line.
        """
        self.cases = tuple(cases)
        self.rebuilt = tuple(rebuilt)
        self._variables = json.dumps(dict(variables or {}))
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        feeds = dict.fromkeys((case.corpus, case.layout) for case in (*self.cases, *self.rebuilt))
        self.feeds = {
            (corpus, layout): Feed(corpus, layout, landing=folder / "landing" / corpus.source_name(layout))
            for corpus, layout in feeds
        }
        self._next_round = min((-len(corpus.checkpoints) for corpus, _ in self.feeds), default=0)
        # Checkpoints that nobody asks for are landed with the next one; a single batch would prove nothing.
        rounds = {case.round for case in self.cases}
        self._batches = rounds if len(rounds) > 1 else set(range(self._next_round, 0))
        self._failed: dict[str, str] = {}
        self._held: dict[str, Held | PipelineError] = {}
        self._contents: dict[str, list[Counter[tuple[Any, ...]]]] = {}
        write_project(self.project, self.feeds.values())

    def held(self, case: Case) -> Held:
        """What a case's table held at its checkpoint. Runs dbt as often as it takes.

        Raises:
            PipelineError: a model of the table failed, at this checkpoint or an earlier one.
        """
        self._run_rounds(case.round)
        held = self._held[case.id]
        if isinstance(held, PipelineError):
            raise held
        return held

    def contents_before_and_after_rebuild(self, case: Case, model: str) -> list[Counter[tuple[Any, ...]]]:
        """Rows of a model of a `rebuilt` case: first as they were built in batches, then as one full refresh did.

        Rows are counted; columns of `OF_BUILD` are left out.

        Raises:
            PipelineError: a model of the table failed.
        """
        if not self._contents:
            self._run_rounds(-1)
            # A table that reads its snapshots' other logs has them among its models.
            models = dict.fromkeys(model for case in self.rebuilt for model in self.feed(case).models(case.table))
            self._read_contents(models)
            self._run(tuple(models), "--full-refresh")
            self._read_contents(models)
        self._raise_failed(self.feed(case), case.table)
        return self._contents[model]

    def feed(self, case: Case) -> Feed:
        """The source of a case."""
        return self.feeds[case.corpus, case.layout]

    @property
    def spark(self) -> SparkSession:
        """The session that dbt uses. Raises PipelineError before the first run."""
        from pyspark.sql import SparkSession  # the module starts no JVM, but is slow to load

        session = SparkSession.getActiveSession()
        if session is None:
            raise PipelineError("no Spark session: dbt has not run")
        return session

    def _run_rounds(self, last: int) -> None:
        while self._next_round <= last:
            self._run_round(self._next_round)
            self._next_round += 1

    def _run_round(self, index: int) -> None:
        for feed in self.feeds.values():
            land(feed.corpus, feed.layout, None, feed.landing)
            if -index <= len(feed.corpus.checkpoints):
                land(feed.corpus, feed.layout, feed.corpus.checkpoints[index], feed.landing)
        asked = [case for case in self.cases if case.round == index]
        built = [*asked, *(case for case in self.rebuilt if index in self._batches)]
        models = dict.fromkeys(model for case in built for model in self.feed(case).models(case.table))
        # Nobody looks: the next run reads these files too.
        if models:
            self._run(tuple(models))
        for case in asked:
            try:
                self._held[case.id] = self._read(self.feed(case), case.table)
            except PipelineError as error:
                self._held[case.id] = error

    def _run(self, models: Sequence[str], *flags: str) -> None:
        result = dbtRunner().invoke(
            [
                "--quiet",
                "--no-use-colors",
                "--no-write-json",
                "build",
                *("--project-dir", str(self.project)),
                *("--profiles-dir", str(REPOSITORY)),
                *("--vars", self._variables),
                *flags,
                *("--select", *models),
            ]
        )
        if result.exception is not None:
            self._failed |= dict.fromkeys(models, f"dbt did not run: {result.exception}")
        for node in getattr(result.result, "results", ()):
            if node.status not in ("success", "pass", "warn"):
                self._failed[node.node.name] = f"{node.status}: {node.message}"

    def _raise_failed(self, feed: Feed, table: Table) -> None:
        for model in feed.models(table):
            if model in self._failed:
                raise PipelineError(f"{model}: {self._failed[model]}")

    def _read(self, feed: Feed, table: Table) -> Held:
        self._raise_failed(feed, table)
        log = _relation(feed.change_log(table))
        counts: dict[str, Counter[str]] = {
            "_cdc_op": Counter(),
            "_cdc_kind": Counter(),
            "_cdc_reject_reason": Counter(),
        }
        columns = ", ".join(counts)
        for *values, count in self.spark.sql(f"select {columns}, count(*) from {log} group by {columns}").collect():
            for column, value in zip(counts, values, strict=True):
                if value is not None:
                    counts[column][value] += count
        return Held(self._living_rows(feed, table), *(dict(counter) for counter in counts.values()))

    def _living_rows(self, feed: Feed, table: Table) -> list[Row]:
        relation = _relation(feed.living(table))
        types = {name.lower(): type_ for name, type_ in self.spark.table(relation).dtypes}
        for column in table.columns:
            found = types.get(column.name.lower())
            if found != column.spark_type:
                raise PipelineError(f"{relation}.{column.name} is {found}, declared as {column.spark_type}")
        expressions = ", ".join(fetch_expression(f"`{column.name}`", column.spark_type) for column in table.columns)
        return [
            {
                column.name: _readable(feed.corpus.engine, column.database_type, value)
                for column, value in zip(table.columns, row, strict=True)
            }
            for row in self.spark.sql(f"select {expressions} from {relation}").collect()
        ]

    def _read_contents(self, models: Iterable[str]) -> None:
        for model in models:
            contents: Counter[tuple[Any, ...]] = Counter()
            if model not in self._failed:
                columns = [c for c in self.spark.table(_relation(model)).dtypes if not c[0].startswith(OF_BUILD)]
                expressions = ", ".join(fetch_expression(f"`{name}`", type_) for name, type_ in columns)
                rows = self.spark.sql(f"select {expressions} from {_relation(model)}").collect()
                contents.update(tuple(map(_hashable, row)) for row in rows)
            self._contents.setdefault(model, []).append(contents)


def _relation(model: str) -> str:
    return f"`{SILVER_SCHEMA}`.`{model}`"


def _readable(engine: str, database_type: str, value: Any) -> str | None:
    try:
        return from_spark(engine, database_type, value)
    except (ValueError, TypeError, ArithmeticError) as error:
        # A difference of this one cell, not the end of the comparison.
        return f"{value!r} ({error})"


def _hashable(value: Any) -> Any:
    # NaN is not equal to itself, a list has no hash.
    return repr(value) if isinstance(value, float | list | dict) else value
