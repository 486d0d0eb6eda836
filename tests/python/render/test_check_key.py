"""Events that contradict the declared key, without Spark."""

from __future__ import annotations

from typing import Any

from .feeds import shop
from .harness import Renderer, relation

STATE = relation("slv_shop__orders_state")


def state(answers: Any = None, *, incremental: bool = True, properties: Any = ()) -> Renderer:
    renderer = shop()
    renderer.this, renderer.incremental = STATE, incremental
    said = [{"key": f"alluvium.{name}", "value": value} for name, value in properties]
    renderer.answers = {"show tblproperties": said, "_cdc_kind = 'rejected'": []} | (answers or {})
    return renderer


def test_key_conflicts_of_latest_merge() -> None:
    found = state(properties=[("key_conflicts", "3"), ("key_conflict", "it's")])
    assert r"'it\'s' as first_conflict where true" in found.sql("_key_conflicts_of_latest_merge", STATE)
    assert state().sql("_key_conflicts_of_latest_merge", STATE).endswith("where false")
