"""Macros in dbt's unit tests and in its commands that only render: none of them asks the database."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.spark.relation import SparkRelation

from .feeds import column, shop
from .harness import Renderer, assert_parses, relation

ORDERS = "__dbt__cte__shop__orders"
LOG, STATE = "__dbt__cte__stg_shop__orders", "__dbt__cte__slv_shop__orders_state"


def given(identifier: str) -> SparkRelation:
    """What `ref()` or `source()` returns in a unit test."""
    created: SparkRelation = SparkRelation.create(type=SparkRelation.CTE, identifier=identifier)
    return created.quote(identifier=False)


def unit_test(tested: str, **config: Any) -> Renderer:
    """A unit test of a model of the shop."""
    renderer = shop()
    settings = {"file_format": "delta", "materialized": "incremental", "incremental_strategy": "merge"}
    renderer.nodes[tested]["config"] |= {**settings, **config}
    renderer.tested = tested
    return renderer


def test_unit_test_of_a_change_log() -> None:
    renderer = unit_test("model.stg", incremental_strategy="append")
    sql = renderer.render("change_log", given(ORDERS))
    assert f"from {ORDERS}" in sql
    assert "unit_test+0+0000000000.json" in sql
    assert "_metadata.file_path" not in sql
    assert_parses(sql)
    assert renderer.queries == []
    assert renderer.render("_given_records", {"relation": given(ORDERS)}) in renderer.render(
        "_bronze_records", {"relation": given(ORDERS)}
    )


@pytest.mark.parametrize(
    ("policy", "value"), [("soft", "_cdc_image.`note`"), ("hard", "if(_cdc_op = 'd', null, _cdc_image.`note`)")]
)
def test_unit_test_of_a_state_has_the_settings_of_its_model(policy: str, value: str) -> None:
    renderer = unit_test("model.state", meta={"alluvium_model": "state", "cdc": {"delete_policy": policy}})
    sql = renderer.sql("current_state", given(LOG))
    assert f"from {LOG} where _cdc_kind = 'change' and " in sql
    assert renderer.queries == []
    assert renderer.render("_own_config") is renderer.nodes["model.state"]["config"]
    assert renderer.render("_own_model")["name"] == "slv_shop__orders_state"
    assert value in sql


def test_unit_test_of_a_model_that_would_not_build() -> None:
    refused = unit_test("model.state", materialized="table").refusal("current_state", given(LOG))
    assert 'materialized is "table"; allowed: incremental' in refused


def test_unit_test_of_a_history_and_of_views() -> None:
    renderer = unit_test("model.state", meta={"alluvium_model": "history"})
    assert f"from {LOG}" in renderer.sql("history", given(LOG))
    renderer = unit_test("model.slv")
    assert renderer.sql("current_rows", given(STATE)).endswith(f"from {STATE} where not _is_deleted")
    assert renderer.sql("_declared_value", column("at", "timestamp_ntz"), given(STATE)) == "`at`"
    assert renderer.sql("changed_keys", given(STATE), ["id"]) == f"select `id` from {STATE}"
    assert renderer.queries == []


def test_unit_test_makes_its_table_as_dbt_does() -> None:
    renderer = unit_test("model.slv")
    renderer.sql("spark__create_table_as", True, relation("sums_by_name__dbt_tmp"), "select 1")
    assert renderer.sql("spark__drop_relation", relation("sums_by_name__dbt_tmp")) == "dbt-spark's own drop"
    assert renderer.made == ["select 1"]
    assert renderer.queries == []


def test_unit_test_without_the_plugin() -> None:
    refused = Renderer(tested="model.state").refusal("current_state", given(LOG))
    assert "unit test sums_by_name: dbt gives unit tests an empty graph" in refused


def test_lines_are_counted_by_compiled_sql() -> None:
    renderer = shop()
    renderer.which = "compile"
    sql = renderer.render("_unaccounted_lines", relation("stg_shop__orders"))
    assert "and batch = (select max(_cdc_batch) from silver.stg_shop__orders)" in sql
    assert renderer.queries == []
    assert_parses(sql)
