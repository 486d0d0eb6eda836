"""What the sinks of the seven systems leave: scaffolded, answered where it is asked, built, and held against the rows.

A slow suite.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from alluvium.inspection import inspect
from alluvium.new_project import create
from alluvium.scaffolding import Choices, plan

from .files import SYSTEMS, System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[tuple[str, str], tuple[str, ...]]:
    """One new project with all systems, built; what was asked, by system and entity."""
    from dbt.cli.main import dbtRunner

    root = tmp_path_factory.mktemp("systems")
    create(root)
    asked: dict[tuple[str, str], tuple[str, ...]] = {}
    for system in SYSTEMS:
        landing = root / "landing" / system.name
        for path, content in system.files.items():
            (landing / path).parent.mkdir(parents=True, exist_ok=True)
            (landing / path).write_bytes(content)
        scaffold = plan(inspect(str(landing)), source_of(system), root, Choices(history=True))
        scaffold.write(root)
        asked |= {(system.name, feed.entity.name): feed.questions for feed in scaffold.feeds}
        answer(root / scaffold.sources, system)
        # The histories, and the tests, of tables whose key was asked for.
        plan(inspect(str(landing)), source_of(system), root, Choices(history=True)).write(root)
    result: Any = dbtRunner().invoke(["--quiet", "build", "--project-dir", str(root), "--profiles-dir", str(root)])
    assert result.exception is None, result.exception
    failed = {node.node.name: node.message for node in result.result if node.status in ("error", "fail")}
    assert not failed, failed
    return asked


def source_of(system: System) -> str:
    """Not the system's name: the repository's own source may have it, and its tables be in the session."""
    return f"scaffolded_{system.name}"


def answer(file: Path, system: System) -> None:
    """Put the answers into the declaration."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    for table in document["sources"][0]["tables"]:
        said = system.answers.get(table["name"], {})
        cdc = table.setdefault("config", {}).setdefault("meta", {}).setdefault("cdc", {})
        cdc |= said.get("cdc", {})
        if table["name"] in system.key:
            cdc.setdefault("key", list(system.key[table["name"]]))
        for column in table["columns"]:
            column |= said.get("columns", {}).get(column["name"], {})
    file.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_tables_are_those_of_the_source(
    system: System, questions: dict[tuple[str, str], tuple[str, ...]], spark: SparkSession
) -> None:
    for entity, expected in system.tables.items():
        table = f"silver.slv_{source_of(system)}__{entity.lower()}"
        names = list(expected[0])
        rows = spark.table(table).selectExpr(*(f"cast(`{name}` as string) as `{name}`" for name in names)).collect()
        key = system.key[entity]
        found = sorted((row.asDict() for row in rows), key=lambda row: [row[name] for name in key])
        assert found == sorted(expected, key=lambda row: [row[name] for name in key])
        question = system.asked.get(entity)
        assert any(question in asked for asked in questions[system.name, entity]) if question else True
        if not question:
            assert not questions[system.name, entity]


def test_histories_are_there_too(questions: dict[tuple[str, str], tuple[str, ...]], spark: SparkSession) -> None:
    versions = spark.table("silver.slv_scaffolded_pagila_jdbc__address_history").where("address_id = 101").count()
    assert versions == 3
