from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, shop
from .harness import Renderer

TYPES = {"id": "int", "note": "string"}
COUNTS = {"table_rows": 3, "dump_rows": 3, "dump_keys": 3}


def current(**answers: Any) -> Renderer:
    """The shop as a run-operation finds it, with a dump of the same three rows."""
    renderer = shop()
    for name, node in renderer.nodes.items():
        node["config"]["materialized"] = "view" if name == "model.slv" else "incremental"
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
    assert "reconcile: type of the dump's column c is " in macros.refusal("_dump_value", column("c", data_type), given)


def test_column_that_the_dump_has_not(macros: Renderer) -> None:
    assert macros.refusal("_dump_value", column("c", "int"), None) == (
        "reconcile: column c of the dump is not given; allowed: a dump that has it, or `columns` without it."
    )
