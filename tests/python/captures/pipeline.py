"""Runs dbt over the corpora, one checkpoint after the other, and keeps what the silver tables held at each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        """Index of the checkpoint within its corpus."""
        return self.corpus.checkpoints.index(self.checkpoint)


@dataclass(frozen=True)
class Held:
    """What was there after a run: of the living rows and of the change log.

    Attributes:
        rows: living rows, canonical text by column; none for a table without key.
        operations: change events in the log by op.
        kinds: rows of the log by kind.
    """

    rows: list[Row]
    operations: dict[str, int]
    kinds: dict[str, int]


class PipelineError(Exception):
    """A dbt node failed, or its relation cannot be read."""


class Pipeline:
    """The project over all feeds of some cases, run checkpoint by checkpoint, each once.

    One dbt invocation loads the next files of every feed. What the tables held after it is read at once, so that
    later runs do not matter to it.
    """

    def __init__(self, folder: Path, cases: Iterable[Case]) -> None:
        """Writes the project.

        Args:
            folder: empty folder for the project and the landed files.
                cases: every case that will be asked for; other tables are not built.
        """
        self.cases = tuple(cases)
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.feeds = {
            key: Feed(*key, landing=folder / "landing" / key[0].source_name(key[1]))
            for key in dict.fromkeys((case.corpus, case.layout) for case in self.cases)
        }
        self.rounds_done = 0
        self.failed: dict[str, str] = {}
        self._held: dict[str, Held | PipelineError] = {}
        write_project(self.project, self.feeds.values())

    def held(self, case: Case) -> Held:
        """What a case's table held at its checkpoint. Runs dbt as often as it takes.

        Raises:
            PipelineError: a model of the table failed, at this checkpoint or an earlier one.
        """
        while self.rounds_done <= case.round:
            self._run_round(self.rounds_done)
            self.rounds_done += 1
        held = self._held[case.id]
        if isinstance(held, PipelineError):
            raise held
        return held

    def feed(self, case: Case) -> Feed:
        """The source of a case."""
        return self.feeds[case.corpus, case.layout]

    @property
    def spark(self) -> SparkSession:
        """The session that dbt used. Raises PipelineError before the first run."""
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        if session is None:
            raise PipelineError("no Spark session: dbt has not run")
        return session

    def relation(self, model: str) -> str:
        """A model's name in SQL."""
        return f"`{SILVER_SCHEMA}`.`{model}`"

    def tables(self) -> list[tuple[Feed, Table]]:
        """The tables that the cases ask for."""
        wanted = dict.fromkeys((case.corpus, case.layout, case.table.name) for case in self.cases)
        by_name = {(case.corpus, case.table.name): case.table for case in self.cases}
        return [(self.feeds[corpus, layout], by_name[corpus, table]) for corpus, layout, table in wanted]

    def run(self, models: Sequence[str], *flags: str) -> None:
        """Runs models; what failed is in `failed`.

        Raises:
            PipelineError: dbt did not come so far as to run a model.
        """
        result = dbtRunner().invoke(
            [
                "--quiet",
                "--no-use-colors",
                "build",
                *("--project-dir", str(self.project)),
                *("--profiles-dir", str(REPOSITORY)),
                *flags,
                *("--select", *models),
            ]
        )
        if result.exception is not None or result.result is None:
            raise PipelineError(f"dbt did not run: {result.exception}")
        for node in getattr(result.result, "results", ()):
            if node.status not in ("success", "pass", "warn"):
                self.failed[node.node.name] = f"{node.status}: {node.message}"

    def _run_round(self, index: int) -> None:
        for feed in self.feeds.values():
            checkpoints = feed.corpus.checkpoints
            land(feed.corpus, feed.layout, None, feed.landing)
            if index < len(checkpoints):
                land(feed.corpus, feed.layout, checkpoints[index], feed.landing)
        asked = [case for case in self.cases if case.round == index]
        # Without a case to look at there is nothing to see in between: the next round lands all of it.
        if asked:
            self.run([model for feed, table in self.tables() for model in feed.models(table)])
        for case in asked:
            try:
                self._held[case.id] = self._read(case)
            except PipelineError as error:
                self._held[case.id] = error

    def _read(self, case: Case) -> Held:
        feed = self.feed(case)
        for model in feed.models(case.table):
            if model in self.failed:
                raise PipelineError(f"{model}: {self.failed[model]}")
        log = self.relation(feed.change_log(case.table))
        counts = self.spark.sql(f"select _cdc_kind, _cdc_op, count(*) from {log} group by 1, 2").collect()
        operations: dict[str, int] = {}
        kinds: dict[str, int] = {}
        for kind, op, count in counts:
            kinds[kind] = kinds.get(kind, 0) + count
            if op is not None:
                operations[op] = operations.get(op, 0) + count
        return Held(self.living_rows(feed, case.table) if case.table.key else [], operations, kinds)

    def living_rows(self, feed: Feed, table: Table) -> list[Row]:
        """Living rows of a table now, canonical text by column.

        Raises:
            PipelineError: a column is missing, or has another type than it was declared with.
        """
        relation = self.relation(feed.living(table))
        types = {name.lower(): type_ for name, type_ in self.spark.table(relation).dtypes}
        for column in table.columns:
            found = types.get(column.name.lower())
            if found != column.spark_type:
                raise PipelineError(f"{relation}.{column.name} is {found}, declared as {column.spark_type}")
        expressions = ", ".join(fetch_expression(f"`{c.name}`", c.spark_type) for c in table.columns)
        return [
            {
                column.name: _readable(feed.corpus.engine, column.database_type, value)
                for column, value in zip(table.columns, row, strict=True)
            }
            for row in self.spark.sql(f"select {expressions} from {relation}").collect()
        ]


def _readable(engine: str, database_type: str, value: Any) -> str | None:
    try:
        return from_spark(engine, database_type, value)
    except (ValueError, TypeError) as error:
        # A difference of this one cell, not the end of the comparison.
        return f"{value!r} ({error})"
