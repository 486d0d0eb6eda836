"""Scaffolded projects over the recorded corpora, built and held against the oracle. A slow suite.

A question that the files leave is answered as a user would: one line of YAML, with what the database says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from alluvium.inspection import inspect
from alluvium.new_project import create
from alluvium.scaffolding import plan

from . import oracle
from .canonical import fetch_expression, from_spark
from .comparison import Row, compare
from .corpora import Column, Corpus, Layout, Table
from .landing import folder, tables_of
from .plugin import corpora
from .verdict import describe, judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

Cases = dict[tuple[Corpus, Layout], tuple[Table, ...]]


def cases(config: pytest.Config) -> Cases:
    return {(corpus, layout): tables_of(corpus, layout) for corpus in corpora(config) for layout in corpus.layouts}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scaffolded" in metafunc.fixturenames:
        found = [(*key, table) for key, tables in cases(metafunc.config).items() for table in tables]
        names = [f"{corpus.name}-{layout.name}-{table.name}" for corpus, layout, table in found]
        metafunc.parametrize("scaffolded", found, ids=names)


@pytest.fixture(scope="module")
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> dict[str, str]:
    """One new project with a source for each corpus and layout that a selected test asks for; the nodes that failed."""
    from dbt.cli.main import dbtRunner

    root = tmp_path_factory.mktemp("scaffolded")
    create(root)
    asked: dict[tuple[Corpus, Layout], list[str]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and "built" in item.fixturenames:
            case: Any = item.callspec.params["scaffolded"]
            node = f"source:{case[0].source_name(case[1])}.{case[2].entity}+"
            asked.setdefault((case[0], case[1]), []).append(node)
    for corpus, layout in asked:
        source = corpus.source_name(layout)
        plan(inspect(str(folder(corpus, layout))), source, root).write(root)
        answer(root / f"models/bronze/{source}/_{source}__sources.yml", corpus, tables_of(corpus, layout))
    command = ["--quiet", "build", "--project-dir", str(root), "--profiles-dir", str(root)]
    result: Any = dbtRunner().invoke([*command, "--select", *(name for names in asked.values() for name in names)])
    assert result.exception is None, result.exception
    return {node.node.name: node.message for node in result.result if node.status in ("error", "fail")}


def answer(file: Path, corpus: Corpus, tables: tuple[Table, ...]) -> None:
    """Say what the files could not: types that are asked about, dates and times among the whole numbers, keys."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    (source,) = document["sources"]
    for declared in source["tables"]:
        table = next((table for table in tables if table.entity == declared["name"]), None)
        if table is None:
            continue
        options = declared.setdefault("config", {}).setdefault("meta", {}).setdefault("cdc", {})
        options.setdefault("key", list(table.key))
        options.setdefault("quarantine", {"fail_above": "100 %"})
        if options.get("decimal_handling_mode", "") is None:
            options["decimal_handling_mode"] = corpus.decimal_handling_mode
        if "snapshots" in options:
            # The tables are all in the connector's table.include.list.
            options["snapshots"] = "complete"
        if table.replica_identity and options.get("replica_identity") is None:
            options["replica_identity"] = table.replica_identity
        for column in declared["columns"]:
            true = table.column(column["name"])
            is_number = column.get("data_type") in ("int", "bigint", "double")
            if "data_type" not in column or (is_number and not true.spark_type.endswith("int")):
                column["data_type"] = true.spark_type
            elif not true.meta.get("default") and not (is_number and true.meta):
                continue
            column.setdefault("config", {}).setdefault("meta", {}).setdefault("cdc", {}).update(true.meta)
    file.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")


def test_scaffolded_table_equals_the_oracle(
    scaffolded: tuple[Corpus, Layout, Table], built: dict[str, str], spark: SparkSession
) -> None:
    corpus, layout, table = scaffolded
    source = corpus.source_name(layout)
    living = f"slv_{source}__{table.entity}"
    assert not {name: message for name, message in built.items() if name.endswith(f"{source}__{table.entity}")}
    checkpoint = corpus.checkpoints[-1]
    names = checkpoint.columns[table.name]
    frame = spark.table(f"silver.{living}")
    columns = [table.column(name) for name in names]
    expressions = [fetch_expression(f"`{name}`", dict(frame.dtypes)[name]) for name in names]
    rows: list[Row] = [
        {column.name: readable(corpus, column, value) for column, value in zip(columns, row, strict=True)}
        for row in frame.selectExpr(*expressions).collect()
    ]
    result = compare(oracle.rows(corpus, checkpoint.name, table), rows, table.key, names)
    verdict = judge(result.differences, oracle.known(corpus, layout, checkpoint.name, table), {})
    assert not verdict.faults, describe(verdict.faults)


def readable(corpus: Corpus, column: Column, value: Any) -> str | None:
    """A value as the comparison has it; a time of day is a text here and microseconds there."""
    if column.database_type.startswith("time") and "stamp" not in column.database_type and isinstance(value, str):
        sign, time = (-1, value[1:]) if value.startswith("-") else (1, value)
        hours, minutes, seconds = time.split(":")
        whole, _, fraction = seconds.partition(".")
        value = sign * (((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10**6 + int(fraction.ljust(6, "0")))
    return from_spark(corpus.engine, column.database_type, value)
