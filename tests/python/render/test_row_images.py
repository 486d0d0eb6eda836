"""Values that a row holds from earlier events, from an old key, or in spite of a delete, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import ODD_NAMES, column, feed, shop
from .harness import Renderer, assert_expression_parses, assert_parses, fold, relation

STATE = relation("slv_shop__orders_state")
ODD = feed(key=["a b", "sel`ect"], columns=[column(name, nullable=name == "a b") for name in ODD_NAMES])
ODD["columns_left_out"] = [name for name in ODD_NAMES if name not in ODD["key"]]


def state(**changes: Any) -> Renderer:
    """A state that applies a batch whose oldest change is known."""
    renderer = shop(**changes)
    renderer.this, renderer.parents = STATE, ["model.stg"]
    renderer.answers = {
        "left: oldest_change": [{"value": "20"}],
        "left: pending_batch": [{"value": 6}],
        "merge into": [],
    }
    return renderer


@pytest.mark.parametrize(
    ("name", "macro", "arguments"),
    [
        ("it's", "_merged_unavailable_value", ["it's"]),
        ("_cdc_value_positions", "_merged_value_positions", [ODD]),
        ("_cdc_moved_columns", "_merged_column_names", [ODD, "_cdc_moved_columns", "false"]),
        ("_cdc_unresolved_columns", "_merged_column_names", [ODD, "_cdc_unresolved_columns", "true"]),
    ],
)
def test_merged_held_column(macros: Renderer, name: str, macro: str, arguments: list[Any]) -> None:
    sql = macros.sql("_merged_unavailable_column", name, ODD)
    assert sql == fold(macros.render(macro, *arguments))
    assert_expression_parses(sql)


MOVES = "silver.slv_shop__orders_state__moves"
MOVED_VALUES = "silver.slv_shop__orders_state__moved_values"


def test_values_under_old_keys() -> None:
    renderer = state()
    named = [MOVES, MOVED_VALUES]
    assert "inner join" in renderer.sql("_moves_sql", ODD, "( select 1 )", "20", 0)
    assert "image_position is not null" in renderer.sql("_values_left_in_state_sql", ODD, MOVES, 0)
    assert "left anti join" in renderer.sql("_values_in_log_sql", ODD, *named, 0)
    for part, arguments in (
        ("_moves_sql", ["( select 1 )", "20"]),
        ("_values_left_in_state_sql", [MOVES]),
        ("_values_in_log_sql", named),
    ):
        assert_parses(renderer.render(part, ODD, *arguments, 1))
    assert_parses("select * from " + renderer.render("_moves_without_values", ODD, *named, 1))
    assert_parses(renderer.render("_moved_values_of", "found", ODD, 1))
    chosen = renderer.render("_feed_of_columns", ODD, ["it's"])
    assert [column["name"] for column in chosen["columns"]] == ["a b", "sel`ect", "it's"]
