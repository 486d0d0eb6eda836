"""The repository's own models of a source system, built load by load from its samples in the one test session."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[3]
SAMPLES = REPOSITORY / "samples"
EXPECTED = "expected"

Texts = dict[str, str | None]
Rows = list[tuple[Any, ...]]


def loads(source: str) -> list[str]:
    """The source's loads in their order: folders `<n>-<what>`."""
    return [folder.name for folder in demo.loads(source)]


def expected_tables(source: str, load: str) -> list[str]:
    """Relations whose content after this load is written down."""
    return sorted({file.name.partition(".")[0] for file in (SAMPLES / source / EXPECTED / load).glob("*.jsonl*")})


def expected_rows(source: str, load: str, relation: str) -> list[Texts]:
    """The content of a relation after this load, values as Spark casts them to text."""
    file = SAMPLES / source / EXPECTED / load / f"{relation}.jsonl"
    text = file.read_text(encoding="utf-8") if file.exists() else gzip.decompress(_gzipped(file).read_bytes()).decode()
    # Not splitlines: values have line separators of Unicode.
    return [json.loads(line) for line in text.removesuffix("\n").split("\n") if line]


def _gzipped(file: Path) -> Path:
    return file.with_name(f"{file.name}.gz")


class SystemUnderTest:
    """One source system: its files land load by load, and each load is one `dbt build` of what depends on the source.

    Attributes:
        source: name of the dbt source.
        loaded: the loads that have landed.
    """

    def __init__(self, source: str, spark: SparkSession, variables: Mapping[str, str] | None = None) -> None:
        """Nothing lands yet; `variables` are dbt's, on each command line."""
        self.source = source
        self.loaded: list[str] = []
        self._spark = spark
        self._variables = json.dumps(dict(variables or {}))

    def land(self, load: str) -> None:
        """Copies a load's files to where the source's declaration looks for them."""
        shutil.copytree(
            SAMPLES / self.source / load, Path(os.environ["ALLUVIUM_LANDING"]) / self.source, dirs_exist_ok=True
        )
        self.loaded.append(load)

    def build(self, command: str = "build", *arguments: str) -> dict[str, str]:
        """Runs dbt over the source's descendants and what these need; fails where a node does.

        Returns:
            node name -> message.
        """
        from dbt.cli.main import dbtRunner

        places = ("--project-dir", str(REPOSITORY), "--profiles-dir", str(REPOSITORY))
        result: Any = dbtRunner().invoke(
            [
                *("--quiet", "--no-write-json", command),
                *("--select", f"@source:{self.source}"),
                *places,
                *("--vars", self._variables),
                *arguments,
            ]
        )
        assert result.exception is None, result.exception
        failed = {node.node.name: node.message for node in result.result if node.status in ("error", "fail")}
        assert not failed, failed
        return {node.node.name: node.message for node in result.result}

    def rows(self, relation: str, columns: Sequence[str] = ("*",)) -> list[dict[str, Any]]:
        """The rows of a relation, in no order; `relation` may have a schema (`silver` for `slv_`, else `gold`)."""
        return [row.asDict() for row in self._spark.table(_qualified(relation)).select(*columns).collect()]

    def columns(self, relation: str) -> list[str]:
        """The names of a relation's columns."""
        return self._spark.table(_qualified(relation)).columns

    def texts(self, relation: str, columns: Sequence[str]) -> list[Texts]:
        """The rows of a relation, each value as Spark casts it to text."""
        table = self._spark.table(_qualified(relation))
        singles = [name for name, type_ in table.dtypes if type_ == "float" and name in columns]
        casts = [f"cast(`{name}` as string) as `{name}`" for name in columns]
        rows = [row.asDict() for row in table.selectExpr(*casts).collect()]
        return [row | {name: _shortest(row[name]) for name in singles} for row in rows]


def built(
    source: str, spark: SparkSession, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[SystemUnderTest, str]]:
    """The system after each of its loads."""
    system = SystemUnderTest(source, spark, variables)
    for load in loads(source):
        system.land(load)
        # What the unit tests say depends on no load.
        system.build("build", *(("--exclude-resource-type", "unit_test") if len(system.loaded) > 1 else ()))
        yield system, load


@dataclass
class Loaded:
    """A system after its loads.

    Attributes:
        system: to ask further; what a test lands on top is there for all that come after it.
        content: load and relation -> its rows after that load, in the columns of what was expected.
    """

    system: SystemUnderTest
    content: dict[tuple[str, str], list[Texts]]


def load_all(source: str, spark: SparkSession, variables: Mapping[str, str] | None = None) -> Loaded:
    """Builds the system load by load and keeps what its tables held after each."""
    content: dict[tuple[str, str], list[Texts]] = {}
    for system, load in built(source, spark, variables):
        for relation in expected_tables(source, load):
            expected = expected_rows(source, load, relation)
            columns = list(expected[0]) if expected else system.columns(relation)
            content[load, relation] = system.texts(relation, columns)
    return Loaded(system, content)


def rows_of(spark: SparkSession, query: str) -> Rows:
    """The rows of a query, in its order."""
    return [tuple(row) for row in spark.sql(query).collect()]


def _shortest(text: str | None) -> str | None:
    """A `float` in as few digits as tell it from others; Java may write more before version 19 (JDK-4511638)."""
    if text is None or "E" not in text:
        return text
    number, exponent = text.split("E")
    packed = struct.pack("f", float(text))
    for digits in range(1, 9):
        shorter = f"{float(number):.{digits}f}E{exponent}"
        if struct.pack("f", float(shorter)) == packed:
            return shorter
    return text


def differences(found: Sequence[Texts], expected: Sequence[Texts]) -> list[str]:
    """The first rows that only one side has; empty when both have the same rows, as often."""
    ours, theirs = (sorted(json.dumps(row, sort_keys=True) for row in rows) for rows in (found, expected))
    if ours == theirs:
        return []
    surplus, missing = list(ours), []
    for row in theirs:
        if row in surplus:
            surplus.remove(row)
        else:
            missing.append(row)
    return [f"missing {row}" for row in missing[:5]] + [f"surplus {row}" for row in surplus[:5]]


def _qualified(relation: str) -> str:
    if "." in relation:
        return relation
    return f"{'silver' if relation.partition('_')[0] in ('stg', 'qrn', 'slv') else 'gold'}.{relation}"
