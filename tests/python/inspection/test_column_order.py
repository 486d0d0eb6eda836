"""Columns stand in the order of the source, as it is now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.columns import latest_order

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ([], ""),
        (["abc", "abxc"], "abxc"),
        (["abc", "abcx"], "abcx"),
        (["axb", "abc"], "axbc"),
        (["xyab", "ba"], "xyba"),
        (["ab", "ba", "ab"], "ab"),
        (["a", "b"], "ab"),
    ],
)
def test_newest_order(orders: list[str], expected: str) -> None:
    assert "".join(latest_order(orders)) == expected


def line(row: dict[str, Any], time: int, *, has_schema: bool) -> str:
    event = {"before": None, "after": row, "source": {"connector": "mysql", "ts_ms": time}, "op": "c"}
    if not has_schema:
        return json.dumps(event)
    fields = [{"field": name, "type": "int32", "optional": True} for name in row]
    image = {"type": "struct", "optional": True, "fields": fields}
    both = [{**image, "field": "before"}, {**image, "field": "after"}]
    return json.dumps({"schema": {"type": "struct", "fields": both}, "payload": event})


@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
def test_column_that_was_added_in_the_middle(tmp_path: Path, has_schema: bool, is_late: bool) -> None:
    lines = [
        line({"id": 1, "gone": 2, "note": 3}, 1000, has_schema=has_schema),
        line({"id": 1, "added": 5, "note": 3}, 2000, has_schema=has_schema),
    ]
    text = "\n".join(lines[::-1] if is_late else lines)
    (tmp_path / "shop.orders+0+0.json").write_text(text, encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    assert [column.name for column in entity.columns] == ["id", "gone", "added", "note"]


def test_rows_without_times_have_the_order_of_the_last_one(tmp_path: Path) -> None:
    rows = [{"id": 1, "note": 2}, {"id": 1, "added": 3, "note": 2}, {"id": 2, "added": 3, "note": 2}]
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    assert [column.name for column in entity.columns] == ["id", "added", "note"]
