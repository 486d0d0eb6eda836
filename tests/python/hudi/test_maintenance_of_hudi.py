"""The statements of compact_tables and vacuum_tables, as Hudi takes them. Collected as test_bugs_of_hudi.py is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dbt.adapters.spark.relation import SparkRelation
from pipeline.project import folder_of_table
from render.harness import Renderer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_rows_stay_as_they_are(spark: SparkSession, table_type: str) -> None:
    relation = SparkRelation.create(schema="maintenance_of_hudi", identifier=f"rows_{table_type}")
    table = {"relation": relation, "file_format": "hudi"}
    spark.sql("create schema if not exists maintenance_of_hudi")
    options = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")
    synced = ", ".join(f"'{option}' = 'false'" for option in options)
    properties = f"'type' = '{table_type}', 'primaryKey' = 'id', {synced}"
    spark.sql(f"create table {relation} (id string, note string) using hudi tblproperties ({properties})")
    for number in range(3):
        spark.sql(f"insert into {relation} select '{number}', 'a'")
    macros = Renderer(spark=spark)

    def found() -> list[tuple[str, ...]]:
        return sorted(tuple(row) for row in spark.sql(f"select id, note from {relation}").collect())

    def file_count() -> int:
        folder = folder_of_table(spark, str(relation.schema), str(relation.identifier))
        return len([path for path in folder.glob("*.parquet") if path.is_file()])

    rows, files = found(), file_count()
    assert [identifier for identifier, _ in rows] == ["0", "1", "2"]
    macros.does("_compact", [table], False)
    (last, *_) = spark.sql(f"call show_commits(table => '{relation}', limit => 1)").collect()
    assert (last.action, found()) == ("replacecommit", rows)
    macros.does("_vacuum", [table], 168, False, False)
    assert (file_count(), found()) == (files + 1, rows)
    # Hudi's own policy of hours would delete nothing: no commit is newer than that.
    macros.does("_vacuum", [table], 0, True, False)
    assert (file_count(), found()) == (1, rows)
    assert macros.render("_table_figures", table) == {"files": 1, "bytes": ""}
