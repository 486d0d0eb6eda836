"""Histories, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from .feeds import column, feed, model, shop
from .harness import NO_PARTITIONS, Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
HISTORY = relation("slv_shop__orders_history")
RESETS: list[dict[str, Any]] = [{"position": "10", "micros": 1000}, {"position": "20", "micros": None}]
MAPS = feed(columns=[column("id", "int"), column("note"), column("tags", "map<string,string>")])
SUBJECT = "scd2_from_changes: model slv_shop__orders_history"
NEWS = {"show tblproperties silver.stg_shop__orders": [], "select max(_cdc_batch)": [{"batch": 6}]}
APPLIED = {"key": "alluvium.applied_batch.stg_shop__orders", "value": "4"}


def history(**changes: Any) -> Renderer:
    """A renderer whose model is the history of `shop.orders`."""
    renderer = shop(**changes)
    renderer.this = HISTORY
    renderer.nodes = {**renderer.nodes, "model.history": model(HISTORY.identifier or "", "model.stg")}
    renderer.parents = ["model.stg"]
    renderer.meta = {"cdc": {"stored_as_scd_type": 2}}
    renderer.columns = ["id", "note", *Renderer().render("history_columns"), "_cdc_position", "_cdc_batch"]
    renderer.types = {("slv_shop__orders_history", "id"): "int"}
    return renderer


def with_news(**properties: str) -> Renderer:
    """A history that is behind its log, with two resets."""
    renderer = history()
    mine: list[dict[str, Any]] = [{"key": f"alluvium.{name}", "value": value} for name, value in properties.items()]
    renderer.answers = {
        **NEWS,
        "show tblproperties silver.slv_shop__orders_history": [APPLIED, *mine],
        "unix_micros(min(source_ts))": RESETS,
        "select _cdc_file_path from": [],
    }
    return renderer


def test_scd2_from_changes_reads_the_keys_that_are_named() -> None:
    renderer = with_news()
    sql = renderer.render("scd2_from_changes", LOG)
    folded = fold(sql)
    assert "where _cdc_kind = 'change' and _cdc_batch > 4 and _cdc_batch <= 6" in folded
    assert "where exists (select 1 from touched where _cdc_past.`id` = touched.`id`)" in folded
    assert "full outer join" in folded
    assert_parses(sql)


def test_scd2_from_changes_is_not_partitioned_by_times() -> None:
    """Delta (3.3.3) would write other ones where the session's zone is not UTC."""
    renderer = history()
    renderer.partition_by = "_valid_from"
    said = "scd2_from_changes: model slv_shop__orders_history: type of column _valid_from, which partition_by names, is"
    assert said in renderer.refusal("scd2_from_changes", LOG)


def test_scd2_from_changes_built_anew_reads_all() -> None:
    renderer = with_news()
    renderer.incremental = False
    sql = renderer.render("scd2_from_changes", LOG)
    assert "touched" not in sql
    assert fold(sql).endswith("select * from versions")
    assert_parses(sql)


def test_scd2_from_changes_is_a_placeholder_while_dbt_parses() -> None:
    renderer = history()
    renderer.execute = False
    assert renderer.sql("scd2_from_changes", LOG) == "select 1 as not_compiled"


def test_scd2_from_changes_refuses() -> None:
    renderer = history()
    renderer.strategy = "append"
    assert 'incremental_strategy is "append"; allowed: merge.' in renderer.refusal("scd2_from_changes", LOG)
    renderer = history()
    renderer.meta = {"cdc": {}}
    assert (
        renderer.refusal("scd2_from_changes", LOG)
        == f"{SUBJECT}: meta.cdc.stored_as_scd_type is not given; allowed: 2."
    )
    renderer = history()
    renderer.post_hooks = []
    assert "record_applied_batches" in renderer.refusal("scd2_from_changes", LOG)
    assert "collapse_unchanged is 1" in history().refusal("scd2_from_changes", LOG, collapse_unchanged="1").replace(
        '"', ""
    )
    assert "at least one column" in history(cdc={"key": []}).refusal("scd2_from_changes", LOG)


@pytest.mark.parametrize(
    ("lists", "refusal"),
    [
        ((["id"], None), 'track_history_column_list is "id"; allowed: note, tags.'),
        ((None, ["x"]), 'track_history_except_column_list is "x"; allowed: note, tags.'),
        (("note", None), 'track_history_column_list is "note"; allowed: a list of columns outside the key.'),
        ((["note"], ["tags"]), 'track_history_except_column_list is ["tags"]; allowed: one of the two lists'),
    ],
)
def test_tracked_columns_refuses(macros: Renderer, lists: Any, refusal: str) -> None:
    assert f"a: {refusal}" in macros.refusal("tracked_columns", "a", MAPS, *lists)


def test_get_merge_sql_of_a_history() -> None:
    renderer = history()
    renderer.answers = dict(NO_PARTITIONS)
    renderer.types = {}
    sql = renderer.sql("spark__get_merge_sql", HISTORY, relation("tmp"), None, [], None)
    assert "target._cdc_position = source._cdc_position when matched and source._cdc_op is null" in sql


def moved(found: bool, **changes: Any) -> Renderer:
    """A history whose batches are merged, with versions that moved."""
    renderer = history(**changes)
    renderer.answers = {
        "left: pending_batch": [{"value": 6}],
        "left: pending_generation": [{"value": "none"}],
        "show tblproperties": [APPLIED],
        "select 1 as moved": [{"moved": 1}] if found else [],
        "merge into": [],
    }
    return renderer


def test_columns_that_the_source_tracks_are_the_default() -> None:
    def compiled(source_option: list[str] | None = None, **arguments: Any) -> str:
        renderer = history(cdc={"track_history_except_column_list": source_option} if source_option else {})
        renderer.which, renderer.incremental = "compile", False
        return renderer.sql("scd2_from_changes", LOG, **arguments)

    by_argument = compiled(track_history_except_column_list=["note"])
    assert compiled(["note"]) == by_argument
    assert compiled() == compiled(["note"], track_history_column_list=["note"]) != by_argument
