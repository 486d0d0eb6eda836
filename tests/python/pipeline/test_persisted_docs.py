"""Comments of columns whose names SQL has to quote, as Spark keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from render.harness import Renderer, relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "pipe_comments"
NAMES = ("größe", "a b", "a.b", "a`b", "select", "a#", "it's", 'a"b', "a\\b", "{{ x }}", "--c", "c\td", "c\x01d")
COMMENT = 'It\'s "quoted", `so`, and\n\\ and \\n \\'


def test_comments_of_a_table_and_of_a_view(spark: SparkSession) -> None:
    table, view = relation("odd_names", SCHEMA), relation("odd_names_of_a_view", SCHEMA)
    columns = {name: {"description": f"{name}: {COMMENT}"} for name in NAMES}
    macros = Renderer(spark=spark, description=COMMENT, persist_docs={"relation": True})
    listed = ", ".join(f"1 as {macros.render('_quoted_identifier', name)}" for name in NAMES)
    spark.sql(f"create schema if not exists {SCHEMA}")
    spark.sql(
        f"create table {table} using delta tblproperties ('delta.columnMapping.mode' = 'name') as select {listed}"
    )
    assert len(macros.does("spark__alter_column_comment", table, columns)) == 1 + len(NAMES)
    commented = ", ".join(macros.render("get_column_comment_sql", name, columns) for name in NAMES)
    spark.sql(f"create view {view} ({commented}) {macros.render('spark__comment_clause')} as select * from {table}")
    for made in (table, view):
        described = {row["col_name"]: row["comment"] for row in spark.sql(f"describe table {made}").collect()}
        assert described == {name: f"{name}: {COMMENT}" for name in NAMES}
    (comment,) = [
        row["data_type"]
        for row in spark.sql(f"describe table extended {view}").collect()
        if row["col_name"] == "Comment"
    ]
    assert comment == COMMENT
    assert len(macros.does("spark__alter_column_comment", table, columns)) == 1
