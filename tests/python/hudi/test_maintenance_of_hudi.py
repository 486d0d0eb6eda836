"""The statements of compact_tables and vacuum_tables, as Hudi takes them. Collected as test_bugs_of_hudi.py is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dbt.adapters.spark.relation import SparkRelation
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
    macros = Renderer()
    rows = sorted(tuple(row) for row in spark.sql(f"select id, note from {relation}").collect())
    assert [identifier for identifier, _ in rows] == ["0", "1", "2"]
    spark.sql(macros.render("compaction_sql", table)).collect()
    (last, *_) = spark.sql(f"call show_commits(table => '{relation}', limit => 1)").collect()
    assert last.action == "replacecommit"
    spark.sql(macros.render("vacuum_sql", table, 168)).collect()
    assert sorted(tuple(row) for row in spark.sql(f"select id, note from {relation}").collect()) == rows
    counted = spark.sql(f"select count(distinct _hoodie_file_name) as files from {relation}").first()
    assert counted is not None
    macros.answers = {"select count(distinct _hoodie_file_name)": [counted.asDict()]}
    assert macros.render("table_figures", table) == {"files": 1, "bytes": ""}
