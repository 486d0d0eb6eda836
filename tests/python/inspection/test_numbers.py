"""Whole numbers that may be days or times, and those that no date would have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.numbers import asks_about, columns_of_question, may_be_times, question_of_numbers
from alluvium.inspection.types import Values

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("is_open", [0, 1], False),
        ("is_open", [1], False),
        ("midnight", [0], True),
        ("offset", [-1, 1], True),
        ("level", [0, 1, 2], True),
        ("customer_id", [3, 198], False),
        ("customer_id", [3, 400], True),
        ("customer_id", [-366, 3], True),
        ("due", [3, 198], True),
        ("due", [], True),
    ],
)
def test_numbers_that_no_date_would_have(name: str, numbers: list[int], expected: bool) -> None:
    values = Values()
    for number in numbers:
        values.add(number)
    assert may_be_times(name, values) is expected


def test_question_says_its_columns() -> None:
    assert columns_of_question(question_of_numbers(["due", "unit price"])) == ["due", "unit price"]
    assert columns_of_question("which of Id, id shall be read?") == []


@pytest.mark.parametrize(("column", "expected"), [("a, b", True), ("due", True), ("du", False), ("x", False)])
def test_question_is_about_a_column_of_any_name(column: str, expected: bool) -> None:
    assert asks_about(question_of_numbers(["a, b", "due"]), column) is expected
    assert not asks_about("which of a, b, due shall be read?", column)


def test_column_that_came_after_the_schemas_is_asked_about(tmp_path: Path) -> None:
    """A converter that was told to send no schemas any more: the old ones say nothing of a new column."""
    fields = [{"type": "int32", "optional": False, "field": name} for name in ("id", "size")]
    image = {"type": "struct", "optional": True, "fields": fields, "field": "after"}
    source = {"connector": "postgresql", "table": "people", "lsn": 100}
    old, new = (
        {"before": None, "after": row, "source": source, "op": "c"}
        for row in ({"id": 1, "size": 5}, {"id": 2, "size": 6, "born": -4000, "expires": 1_714_564_800_000})
    )
    wrapped = {"schema": {"type": "struct", "optional": False, "fields": [image]}, "payload": old}
    for offset, record in enumerate((wrapped, new)):
        (tmp_path / f"s.public.people+0+{offset}.json").write_text(json.dumps(record), encoding="utf-8")
    (entity,) = inspect(str(tmp_path)).entities
    assert entity.encoding.possible_times == ("expires",)
    assert [column.name for column in entity.columns if column.lacks_default] == ["born", "expires"]


def test_days_in_arrays_and_keys_are_asked_about_and_one_local_time_tells_the_mode(tmp_path: Path) -> None:
    def inspected(**more: Any) -> tuple[tuple[str, ...], list[str]]:
        row = {"item_id": 1000, "days": [19782], "at": "2024-02-29T12:00:00Z"}
        rows = [{"day": 19000 + number, **row} for number in range(3)]
        source = {"connector": "postgresql", "table": "plans", "lsn": 1}
        lines = [{"before": None, "after": row | more, "source": source, "op": "r"} for row in rows]
        (tmp_path / "plans.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        (entity,) = inspect(str(tmp_path)).entities
        assert entity.key.candidates[0] == ("day",)
        return entity.encoding.possible_times, [question for question in entity.questions if "isostring" in question]

    numbers, asked = inspected()
    assert numbers == ("day", "item_id", "days")
    assert [question.partition(":")[0] for question in asked] == ["at"]
    assert inspected(created_at=1710037800123456)[1] == []
