"""Whole numbers that may be days or times, and those that no date would have."""

from __future__ import annotations

import pytest

from alluvium.inspection.numbers import asks_about, columns_of_question, may_be_times, question_of_numbers
from alluvium.inspection.types import Values


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
