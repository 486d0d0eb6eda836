from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

LIVING = relation("slv_shop__orders")
TYPES = {"id": "int", "note": "string"}
COLUMNS = [
    column("region", nullable=True),
    column("id", "bigint"),
    column("total", "decimal(10,2)"),
    column("at", "timestamp"),
    column("local", "timestamp_ntz"),
    column("raw", "binary"),
    column("tags", "map<string,string>"),
]
TEXTS = dict.fromkeys(("region", "total", "at", "local", "raw"), "string") | {
    "id": "int",
    "tags": "map<string,string>",
}
COUNTS = {"table_rows": 3, "dump_rows": 3, "dump_keys": 3}


def current(**answers: Any) -> Renderer:
    """The shop as a run-operation finds it, with a dump of the same three rows."""
    renderer = shop()
    for name, config in {
        "model.stg": {"meta": {}, "materialized": "incremental"},
        "model.state": {"meta": {"cdc": {"merge_guard": "_cdc_position"}}, "materialized": "incremental"},
        "model.slv": {"meta": {}, "materialized": "view"},
    }.items():
        renderer.nodes[name]["config"] = config
    renderer.which = "run-operation"
    renderer.columns = ["id", "note"]
    renderer.answers = {
        "describe query": [{"col_name": name, "data_type": data_type} for name, data_type in TYPES.items()],
        "as table_rows": [COUNTS],
        "with dump as": [],
        "create or replace temporary view": [],
        **answers,
    }
    return renderer


def test_reconcile_of_equal_tables() -> None:
    renderer = current()
    assert len(renderer.does("reconcile", "slv_shop__orders", "dumps.orders")) == 3
    assert renderer.messages == [
        "reconcile: silver.slv_shop__orders has 3 rows, dumps.orders has 3: all equal in 2 columns"
    ]
    renderer.execute = False
    assert renderer.does("reconcile", "no model", "dumps.orders") == []


def test_reconcile_shows_what_differs_and_fails() -> None:
    rows = [
        {"verdict": "different", "row_key": "id=1", "cells": 'note: "a", in the dump NULL', "row_count": 9},
        {"verdict": "missing", "row_key": "id=2", "cells": "", "row_count": 1},
    ]
    renderer = current(**{"with dump as": rows})
    expected = "1 rows are missing, 0 are there that the dump has not, 9 are different"
    with pytest.raises(CompilationError, match=expected):
        renderer.render("default__reconcile", renderer.nodes["model.slv"], feed(), "dumps.orders", "relation", 20)
    assert renderer.messages == ['different id=1 note: "a", in the dump NULL', "missing id=2"]


def test_reconcile_refuses_a_dump_with_two_rows_of_a_key() -> None:
    renderer = current(**{"as table_rows": [COUNTS | {"dump_keys": 2}]})
    with pytest.raises(CompilationError, match="one row per id; this one has 3 rows of 2 keys"):
        renderer.render("reconcile", "slv_shop__orders", "dumps.orders")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "json"}, 'reconcile: format is "json"; allowed: relation, delta, parquet, csv.'),
        ({"rows": 0}, "reconcile: rows is 0; allowed: a number of rows, such as 20."),
        ({"columns": ["nota"]}, 'reconcile: model slv_shop__orders: columns is "nota"; allowed: id, note.'),
        (
            {"model": "stg_shop__orders"},
            'reconcile: model is "stg_shop__orders"; allowed: slv_shop__orders, slv_shop__orders_state.',
        ),
    ],
)
def test_reconcile_refuses(arguments: dict[str, Any], message: str) -> None:
    given = {"model": "slv_shop__orders", "dump": "dumps.orders"} | arguments
    assert current().refusal("reconcile", **given) == message


def test_current_table() -> None:
    renderer = current()
    assert renderer.render("current_table", "m", "slv_shop__orders") is renderer.nodes["model.slv"]
    assert renderer.render("is_state", renderer.nodes["model.state"])
    assert not renderer.render("is_state", renderer.nodes["model.slv"])


def test_feed_to_reconcile(macros: Renderer) -> None:
    chosen = macros.render("feed_to_reconcile", feed(columns=COLUMNS), "m", ["total"])
    assert [entry["name"] for entry in chosen["columns"]] == ["id", "total"]
    assert len(macros.render("feed_to_reconcile", feed(columns=COLUMNS), "m", None)["columns"]) == len(COLUMNS)


@pytest.mark.parametrize(
    ("dump", "form", "relation_", "queries"),
    [
        ("a.b", "relation", "a.b", 0),
        ("/a b", "parquet", "parquet.`/a b`", 0),
        ("/a", "delta", "delta.`/a`", 0),
        ("/it's.csv", "csv", "alluvium_dump", 1),
    ],
)
def test_dump_relation(dump: str, form: str, relation_: str, queries: int) -> None:
    renderer = current()
    assert renderer.render("dump_relation", dump, form) == relation_
    assert len(renderer.queries) == queries


def test_create_dump_view_sql(macros: Renderer) -> None:
    assert_parses(macros.render("create_dump_view_sql", "/it's.csv"))


def test_dump_types() -> None:
    assert current().render("dump_types", "dumps.orders") == TYPES


def test_dump_rows_sql(macros: Renderer) -> None:
    sql = macros.render("dump_rows_sql", feed(columns=COLUMNS), "alluvium_dump", TEXTS)
    # A text of its own type is always a value.
    assert "struct('region'" not in sql
    assert "struct('total' as name" in sql
    assert_parses(sql)


@pytest.mark.parametrize(
    ("data_type", "given", "value"),
    [
        ("int", "int", "`text__c`"),
        ("bigint", "int", "cast(`text__c` as bigint)"),
        ("decimal(10,2)", "decimal(9,1)", "cast(`text__c` as decimal(10,2))"),
        ("int", "string", "try_cast(`text__c` as int)"),
    ],
)
def test_dump_value(macros: Renderer, data_type: str, given: str, value: str) -> None:
    assert macros.render("dump_value", column("c", data_type), given) == value


@pytest.mark.parametrize(
    ("data_type", "given"),
    [
        ("int", "bigint"),
        ("decimal(10,2)", "double"),
        ("decimal(10,2)", "decimal(10,3)"),
        ("double", "float"),
        ("timestamp", "timestamp_ntz"),
        ("timestamp_ntz", "timestamp"),
        ("array<int>", "string"),
        ("string", "int"),
    ],
)
def test_dump_value_refuses_what_could_change_it(macros: Renderer, data_type: str, given: str) -> None:
    assert "reconcile: type of the dump's column c is " in macros.refusal("dump_value", column("c", data_type), given)


def test_column_that_the_dump_has_not(macros: Renderer) -> None:
    assert macros.refusal("dump_value", column("c", "int"), None) == (
        "reconcile: column c of the dump is not given; allowed: a dump that has it, or `columns` without it."
    )


def test_text_column(macros: Renderer) -> None:
    assert macros.render("text_column", column("c", "decimal(10,2)"))["cdc"] == {"semantic_type": "decimal"}
    assert macros.render("text_column", column("c", "int"))["cdc"] == {"semantic_type": None}


def test_dump_text(macros: Renderer) -> None:
    for data_type in ("timestamp", "timestamp_ntz", "binary", "int"):
        assert_expression_parses(macros.render("dump_text", column("c", data_type), "string"))
        assert macros.render("dump_text", column("c", data_type), data_type) == "`c`"


def test_dump_misfit(macros: Renderer) -> None:
    sql = macros.sql("dump_misfit", column("c", "int"))
    assert sql.startswith("if(`text__c` is not null and (`value__c` is null), struct('c' as name")
    assert_expression_parses(sql)


@pytest.mark.parametrize(
    ("wide", "narrow", "holds"),
    [
        ("bigint", "tinyint", True),
        ("tinyint", "smallint", False),
        ("decimal(20,0)", "bigint", True),
        ("decimal(20,2)", "bigint", False),
        ("decimal(12,2)", "decimal(10,0)", True),
        ("decimal(10,2)", "decimal(10,1)", False),
        ("double", "int", False),
        ("int", "decimal(3,0)", False),
    ],
)
def test_holds_exactly(macros: Renderer, wide: str, narrow: str, holds: bool) -> None:
    assert macros.render("holds_exactly", wide, narrow) is holds


def test_dump_counts_sql(macros: Renderer) -> None:
    macros.columns = ["id", "_is_deleted"]
    sql = macros.render("dump_counts_sql", feed(), LIVING, "select * from dumps.orders")
    assert "(select count(*) from silver.slv_shop__orders where not _is_deleted) as table_rows" in fold(sql)
    assert_parses(sql)


def test_living_condition(macros: Renderer) -> None:
    assert macros.render("living_condition", LIVING) == ""


def test_differences_sql(macros: Renderer) -> None:
    made = feed(columns=COLUMNS, key=["region", "id"])
    sql = macros.render(
        "differences_sql", made, LIVING, macros.render("dump_rows_sql", made, "alluvium_dump", TEXTS), 7
    )
    assert "full outer join dump on living.`region` <=> dump.`region` and living.`id` = dump.`id`" in fold(sql)
    assert "where row_number <= 7" in sql
    assert_parses(sql)


def test_cells_of_difference(macros: Renderer) -> None:
    sql = macros.sql("cells_of_difference", feed(columns=COLUMNS))
    assert "living.`total` <=> dump.`total` and dump.misfits['total'] is null" in sql
    assert_expression_parses(sql)


def test_shown_value(macros: Renderer) -> None:
    assert macros.render("shown_value", column("c", "int"), "dump.") == (
        "coalesce(dump.misfits['c'], cast(dump.`c` as string), 'NULL')"
    )
    assert "'not known'" in macros.render("shown_value", column("c", "binary"), "living.")


def test_verdict_counts(macros: Renderer) -> None:
    assert macros.render("verdict_counts", [{"verdict": "extra", "row_count": 4}]) == (
        "0 rows are missing, 4 are there that the dump has not, 0 are different"
    )
