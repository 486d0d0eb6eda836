"""Histories, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .feeds import column, feed, model, shop
from .harness import NO_PARTITIONS, Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
HISTORY = relation("slv_shop__orders_history")
RESETS: list[dict[str, Any]] = [{"position": "10", "micros": 1000}, {"position": "20", "micros": None}]
MAPS = feed(columns=[column("id", "int"), column("note"), column("tags", "map<string,string>")])
NEWS = {"show tblproperties silver.stg_shop__orders": [], "select max(_cdc_batch)": [{"batch": 6}]}
APPLIED = {"key": "alluvium.applied_batch.stg_shop__orders", "value": "4"}


def history(**changes: Any) -> Renderer:
    """A renderer whose model is the history of `shop.orders`."""
    renderer = shop(**changes)
    renderer.this = HISTORY
    renderer.nodes = {**renderer.nodes, "model.history": model(HISTORY.identifier or "", "model.stg")}
    renderer.parents = ["model.stg"]
    renderer.columns = ["id", "note", *Renderer().render("_history_columns"), "_cdc_position", "_cdc_batch"]
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


def test_history_reads_the_keys_that_are_named() -> None:
    renderer = with_news()
    sql = renderer.render("history", LOG)
    folded = fold(sql)
    assert "where _cdc_kind = 'change' and _cdc_batch > 4 and _cdc_batch <= 6" in folded
    assert "where exists (select 1 from touched where _cdc_past.`id` = touched.`id`)" in folded
    assert "full outer join" in folded
    assert_parses(sql)


def test_history_is_not_partitioned_by_times() -> None:
    """Delta (3.3.3) would write other ones where the session's zone is not UTC."""
    renderer = history()
    renderer.partition_by = "_valid_from"
    said = "history: model slv_shop__orders_history: type of column _valid_from, which partition_by names, is"
    assert said in renderer.refusal("history", LOG)


def test_history_built_anew_reads_all() -> None:
    renderer = with_news()
    renderer.incremental = False
    sql = renderer.render("history", LOG)
    assert "touched" not in sql
    assert fold(sql).endswith("select * from versions")
    assert_parses(sql)


def test_history_refuses() -> None:
    renderer = history()
    renderer.strategy = "append"
    assert renderer.refusal("history", LOG) == (
        'history: model slv_shop__orders_history: incremental_strategy is "append"; allowed: merge, which history sets '
        "itself: delete `incremental_strategy` from the model and from its folder in dbt_project.yml."
    )
    assert "collapse_unchanged is 1" in history().refusal("history", LOG, collapse_unchanged="1").replace('"', "")
    assert "at least one column" in history(cdc={"key": []}).refusal("history", LOG)


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
    assert f"a: {refusal}" in macros.refusal("_tracked_columns", "a", MAPS, *lists)


@pytest.mark.parametrize(
    ("width", "properties", "left_out", "filled"),
    [
        (20, {}, ["a_1"], [f"a_{number}" for number in range(20)]),
        # In the order of the declaration, not of the events.
        (20, {"columns_left_out": '["a_7"]'}, ["a_12", "a_3"], ["a_3", "a_7", "a_12"]),
        # It had twenty once: what its batches leave out is noted as long as it lives.
        (2, {"columns_left_out": '["a_0"]'}, ["a_1"], ["a_0", "a_1"]),
        (2, {}, None, None),
    ],
)
def test_history_fills_the_columns_that_any_event_has_left_out(
    width: int, properties: dict[str, str], left_out: list[str] | None, filled: list[str] | None
) -> None:
    renderer = with_news(**properties)
    renderer.answers["collect_set("] = [{"left_out": json.dumps(left_out)}] if left_out else []
    made = feed(columns=[column("id", "int"), *(column(f"a_{number}") for number in range(width))])
    renderer.render("_ask_for_columns_left_out", LOG, made, {"after": 4, "until": 6})
    assert made.get("filled_columns") == filled


def test_wide_history_is_built_from_an_empty_log() -> None:
    renderer = history()
    renderer.incremental, renderer.answers = False, {}
    made = feed(columns=[column("id", "int"), *(column(f"a_{number}") for number in range(20))])
    renderer.render("_ask_for_columns_left_out", LOG, made, {"after": 0, "until": 0})
    assert made["filled_columns"] == []
    assert renderer.queries == []


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
        return renderer.sql("history", LOG, **arguments)

    by_argument = compiled(track_history_except_column_list=["note"])
    assert compiled(["note"]) == by_argument
    assert compiled() == compiled(["note"], track_history_column_list=["note"]) != by_argument
