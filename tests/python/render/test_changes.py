from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import CompilationError

from alluvium import rules

from .feeds import column, feed, shop
from .harness import INVOCATION, NO_PARTITIONS, Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
SOURCE = relation("shop__orders", "bronze")
RUNS = [{"is_wanted": True, "first_path": "/a", "last_path": "/b", "file_count": 2, "container_count": 1, "bytes": 10}]
RUNS[0] |= {"outdated_count": 0, "superseded_count": 0}


def test_change_log_compiles_without_a_query() -> None:
    renderer = shop()
    renderer.which = "compile"
    renderer.strategy = "append"
    sql = renderer.render("change_log", SOURCE)
    assert renderer.queries == []
    assert "cast(1 as bigint) as _cdc_batch from numbered" in fold(sql)
    assert_parses(sql)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"cdc": {"connector": "db3"}},
            f'meta.cdc.connector is "db3"; allowed: {", ".join([*rules.load("connectors"), "jdbc", "table"])}.',
        ),
        ({"cdc": {"key": ["no"]}}, 'meta.cdc.key is "no"; allowed: id, note.'),
        ({"using": "orc"}, 'external.using is "orc"; allowed: json, avro, parquet.'),
    ],
)
def test_change_log_refuses_before_any_query(changes: dict[str, Any], said: str) -> None:
    assert shop(**changes).refusal("change_log", SOURCE) == f"change_log: source shop.orders: {said}"


LEVEL = {"log_batch": 4, "ledger_batch": 4, "held_batch": 4}


@pytest.mark.parametrize(
    ("batches", "made_for", "verbs"),
    [
        (LEVEL, None, ["set", "refresh", "with", "refresh"]),
        # Spark has listed nothing yet that it could remember.
        (LEVEL, INVOCATION, ["set", "with", "refresh"]),
        # A run was killed between the log and its ledger: its files are listed again with what the ledger lacked.
        (LEVEL | {"log_batch": 5}, INVOCATION, ["set", "with", "insert", "with", "refresh"]),
        # The log was restored; the run after that has nothing to bring level.
        (LEVEL | {"log_batch": 3}, INVOCATION, ["set", "with", "alter", "update", "insert", "with", "refresh"]),
        (LEVEL | {"log_batch": 3, "held_batch": 3}, INVOCATION, ["set", "with", "refresh"]),
    ],
)
def test_one_query_lists_the_files_and_says_which_batch_is_next(
    batches: dict[str, int], made_for: str | None, verbs: list[str]
) -> None:
    renderer = shop()
    renderer.answers = {
        "set alluvium.made_for": [{"value": made_for or "<undefined>"}],
        "with entries as": [RUNS[0] | batches | {"declarations": ""}],
        **{key: [] for key in ("refresh", "insert into", "update", "alter table")},
    }
    next_batch = renderer.render("_next_batch", renderer.render("_feed_of_relation", "m", SOURCE))
    assert next_batch["number"] == max(batches.values()) + 1
    assert [query.split()[0] for query in renderer.queries] == verbs


def test_change_log_refuses_another_strategy() -> None:
    assert shop().refusal("change_log", SOURCE) == (
        'change_log: model stg_shop__orders: incremental_strategy is "merge"; allowed: append, which change_log sets '
        "itself: delete `incremental_strategy` from the model and from its folder in dbt_project.yml."
    )


def test_change_log_without_news_reads_nothing(macros: Renderer) -> None:
    macros.types = {("stg_shop__orders", "id"): "int"}
    macros.columns = ["id", "note", "_cdc_op"]
    macros.answers = {"left: properties": [{"value": {}}]}
    sql = macros.render("_change_log_sql", feed(), {"number": 3, "after": 2, "runs": []})
    assert fold(sql).endswith("select * from silver.stg_shop__orders where false")
    assert_parses(sql)
    # A column that the log has not yet: dbt adds it from the model's own columns.
    macros.columns = ["id", "_cdc_op"]
    assert "numbered as (" in macros.sql("_change_log_sql", feed(), {"number": 3, "after": 2, "runs": []})


def test_change_log_of_an_empty_folder_is_empty(macros: Renderer) -> None:
    sql = macros.sql("_change_log_sql", feed(), {"number": 1, "after": None, "runs": []})
    assert f"and {macros.render('_holds_values', '_metadata.file_path')} and false" in sql


def test_get_insert_into_sql(macros: Renderer) -> None:
    macros.columns = ["id", "a b"]
    macros.answers = {"left: new_files": [{"value": 1}], **NO_PARTITIONS}
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == (
        "insert into silver.stg_shop__orders (`id`, `a b`) select `id`, `a b` from silver.tmp"
    )
    macros.answers["describe detail"] = [{"partitionColumns": '["id"]'}]
    with pytest.raises(CompilationError, match="partition_by is not given; allowed: id, as the table has it"):
        macros.sql("get_insert_into_sql", relation("tmp"), LOG)
    macros.answers = {"left: new_files": [{"value": 0}]}
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == "select 'nothing new' as applied"
    macros.kind = "complete_change_log"
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == "select 'nothing new' as applied"
    macros.kind = None
    assert macros.sql("get_insert_into_sql", relation("tmp"), LOG) == "dbt-spark's own insert"


def test_same_columns(macros: Renderer) -> None:
    macros.columns = ["id", "a b"]
    assert macros.render("_same_columns", relation("tmp"), LOG) == ["id", "a b"]
    macros.types = {("tmp", "a b"): "decimal(12,4)", ("stg_shop__orders", "a b"): "decimal(12,2)"}
    assert macros.refusal("_same_columns", relation("tmp"), LOG) == (
        'model stg_shop__orders: type of column a b is "decimal(12,4)"; allowed: decimal(12,2), as the table has it; '
        "another one needs `dbt build --full-refresh --select stg_shop__orders+`."
    )


@pytest.mark.parametrize(
    "cut", ["struct<a:int,... 5 more fields>", "array<struct<a:struct<b:int,... 12 more fields>>>"]
)
def test_types_that_spark_does_not_show_whole_are_refused(macros: Renderer, cut: str) -> None:
    macros.columns = ["id", "document"]
    assert [column.name for column in macros.render("_columns_in_relation", LOG)] == ["id", "document"]
    macros.types = {("tmp", "document"): cut, ("stg_shop__orders", "document"): cut}
    for refused in (macros.refusal("_same_columns", relation("tmp"), LOG), macros.refusal("_columns_in_relation", LOG)):
        assert refused.startswith(f'model stg_shop__orders: type of column document is "{cut}"; allowed: a type that ')
        assert "spark.sql.debug.maxToStringFields" in refused


def test_require_types_and_own_columns(macros: Renderer) -> None:
    columns = [{"name": "a", "dtype": "int"}]
    assert not macros.sql("_require_types", LOG, columns, {"b": "date"})
    assert 'column a is "date"; allowed: int, ' in macros.refusal("_require_types", LOG, columns, {"a": "date"})
    names = ("_CDC_x", "_is_deleted", "_deleted_at", "_METADATA", "cdc_x", "_hoodie_is_deleted")
    own = [macros.render("_is_own_column", name) for name in names]
    assert own == [True, True, True, True, False, False]
    # dbt-spark takes these for no columns of a table, whatever its format is.
    assert all(macros.render("_is_own_column", name) for name in SparkAdapter.HUDI_METADATA_COLUMNS)


@pytest.mark.parametrize("name", ["unit price", "a,b", "a=b", "a(b)", "a\tb"])
def test_name_that_delta_refuses_is_refused_before(macros: Renderer, name: str) -> None:
    odd = feed(columns=[column("id", "int"), column(name)])
    assert macros.refusal("_require_names_of_delta", "m", odd).startswith(
        f"m: name of a column is {json.dumps(name)}; "
    )
    mapped = Renderer(tblproperties={"delta.columnMapping.mode": "name"})
    assert mapped.does("_require_names_of_delta", "m", odd) == []
    for harmless in ("order", "Größe", "a.b", "it's", "x`y", "a-b"):
        assert macros.does("_require_names_of_delta", "m", feed(columns=[column(harmless)])) == []
