"""Whole numbers of plain records, of which nothing says whether they count days or are times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .key_names import is_named_like_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import Values

_DAYS_OF_A_YEAR = 366
_BEFORE_THE_NAMES, _BEHIND_THE_NAMES = "which of ", " count days or are times?"


def may_be_times(name: str, values: Values) -> bool:
    """Whether whole numbers may be days or times.

    No date is seen on 1970-01-01 and the day after it alone, and no time in the first of its units alone: such numbers
    are flags. Zeros alone may be midnights. Of a column that is called like a key all dates would have to be of 1970,
    or of the year before.

    Args:
        name: of the column.
        values: what was seen of it.
    """
    lowest, highest = values.lowest, values.highest
    if lowest is None or highest is None:
        return True
    is_flag = lowest in (0, 1) and highest == 1
    is_reference = is_named_like_key(name) and lowest > -_DAYS_OF_A_YEAR and highest < _DAYS_OF_A_YEAR
    return not (is_flag or is_reference)


def question_of_numbers(columns: Sequence[str]) -> str:
    """What to ask of columns that may be days or times."""
    names = ", ".join(columns)
    answer = "Nothing in the records says what a number means. Say `data_type` and `semantic_type` of those that do."
    return f"{_BEFORE_THE_NAMES}{names}{_BEHIND_THE_NAMES} {answer}"


def columns_of_question(question: str) -> list[str]:
    """The columns that such a question is about, if none has a comma in its name; none of another question."""
    names = _names_in(question)
    return names.split(", ") if names else []


def asks_about(question: str, column: str) -> bool:
    """Whether it is such a question, and one about a column, whatever its name has in it."""
    return f", {column}, " in f", {_names_in(question)}, "


def _names_in(question: str) -> str:
    names, behind, _ = question.partition(_BEHIND_THE_NAMES)
    return names.removeprefix(_BEFORE_THE_NAMES) if behind and names.startswith(_BEFORE_THE_NAMES) else ""
