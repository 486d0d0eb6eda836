"""Events that contradict the declared key, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from .feeds import column, feed, shop
from .harness import Renderer, assert_parses, fold, relation

LOG = relation("stg_shop__orders")
STATE = relation("slv_shop__orders_state")
BATCHES = {"after": 4, "until": 6}
RESETS = [{"position": "10", "micros": 1}]
NEWS = {"create_count": 2, "other_count": 1, "lowest_key": 3, "highest_key": 9}
FOUND = {"conflict_count": 3, "create_count": 2, "key_values": '{"id":7}', "op": "c", "place": "b line 2"}
FOUND |= {"place_before": "a line 1"}


def state(answers: Any = None, *, incremental: bool = True, properties: Any = ()) -> Renderer:
    renderer = shop()
    renderer.this, renderer.incremental = STATE, incremental
    said = [{"key": f"alluvium.{name}", "value": value} for name, value in properties]
    renderer.answers = {"show tblproperties": said, "_cdc_kind = 'rejected'": [], "set alluvium.": []} | (answers or {})
    return renderer


@pytest.mark.parametrize(
    ("news", "is_asked"),
    [
        (NEWS, True),
        (NEWS | {"create_count": 0}, True),
        (NEWS | {"create_count": 0, "other_count": 0}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("option", ["warn", "fail"])
def test_check_key(news: dict[str, Any], is_asked: bool, option: str) -> None:
    renderer = state({"conflict_count": [FOUND]})
    arguments = (LOG, feed(on_key_conflict=option), BATCHES, RESETS, news)
    if is_asked and option == "fail":
        with pytest.raises(CompilationError, match=r"3 events contradict the key id \(on_key_conflict: fail\)"):
            renderer.render("check_key", *arguments)
        return
    renderer.render("check_key", *arguments)
    assert len(renderer.warnings) == is_asked
    assert any("set alluvium.key_conflicts." in sql and sql.endswith(" = 3") for sql in renderer.queries) == is_asked


def test_may_check_key(macros: Renderer) -> None:
    assert macros.render("may_check_key", feed())
    others: list[dict[str, Any]] = [{"key": []}, {"shape": "row"}, {"on_key_conflict": "ignore"}]
    for options in others:
        assert not macros.render("may_check_key", feed(**options))


def test_knows_all_keys() -> None:
    def knows(renderer: Renderer, resets: Any = RESETS, **options: Any) -> Any:
        return renderer.render("knows_all_keys", LOG, feed(**options), BATCHES, resets)

    assert knows(state())
    assert not knows(state(), [])
    assert knows(state(properties=[("reset_at", "10")]), [])
    assert not knows(state(), snapshots="partial")
    assert not knows(state({"_cdc_kind = 'rejected'": [{"_cdc_file_path": "a"}]}))


def test_has_key_within(macros: Renderer) -> None:
    assert macros.render("has_key_within", feed(), NEWS) == "`id` between 3 and 9"
    assert macros.render("has_key_within", feed(columns=[column("id")]), NEWS) == "true"


@pytest.mark.parametrize("connector", ["postgresql", "mysql", "mongodb"])
@pytest.mark.parametrize("incremental", [False, True])
def test_key_conflicts_sql(connector: str, incremental: bool) -> None:
    renderer = state(incremental=incremental)
    sql = renderer.sql("key_conflicts_sql", LOG, feed(connector=connector), BATCHES, RESETS, NEWS, True)
    assert_parses(sql)
    assert sql.count("_cdc_batch > 4 and _cdc_batch <= 6") == 2
    assert fold(renderer.sql("preceded_events", LOG, feed(connector=connector), BATCHES, NEWS)) in fold(sql)
    assert ("slv_shop__orders_state" in sql) == incremental
    assert ("before._cdc_op <> 'r'" in sql) == (connector == "mongodb")
    without = renderer.sql("key_conflicts_sql", LOG, feed(), BATCHES, [], NEWS, False)
    assert "before is null and not is_created and false as is_unnamed" in fold(without)


def test_key_conflict_message(macros: Renderer) -> None:
    said = macros.render("key_conflict_message", feed(), FOUND)
    assert said.startswith(
        "shop.orders: 3 events contradict the key id (on_key_conflict: warn), creates of a key that has a row, and"
    )
    assert 'first {"id":7} (op c) at b line 2, whose row is from a line 1.' in said
    assert "whose row" not in macros.render("key_conflict_message", feed(), FOUND | {"place_before": None})


@pytest.mark.parametrize(("said", "before", "expected"), [
    (None, "none", {}),
    (None, "3", {"key_conflicts": "0", "key_conflict": ""}),
    ("x", "none", {"key_conflicts": "2", "key_conflict": "x"}),
])  # fmt: skip
def test_key_conflict_properties(said: str | None, before: str, expected: dict[str, str]) -> None:
    renderer = state(properties=[("key_conflicts", before)] if before != "none" else [])
    renderer.answers = {
        "set alluvium.key_conflicts.": [{"value": "2" if said else "<undefined>"}],
        "set alluvium.key_conflict.": [{"value": said or "<undefined>"}],
        **{name: rows for name, rows in renderer.answers.items() if name != "set alluvium."},
    }
    assert renderer.render("key_conflict_properties") == expected


def test_key_conflicts_of_latest_merge() -> None:
    found = state(properties=[("key_conflicts", "3"), ("key_conflict", "it's")])
    assert r"'it\'s' as first_conflict where true" in found.sql("key_conflicts_of_latest_merge", STATE)
    assert state().sql("key_conflicts_of_latest_merge", STATE).endswith("where false")
