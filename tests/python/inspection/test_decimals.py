from __future__ import annotations

from typing import Any

import pytest

from alluvium.inspection.decimals import decimals_of
from alluvium.inspection.types import Values


def seen(*values: Any) -> Values:
    found = Values()
    for value in values:
        found.add(value)
    return found


@pytest.mark.parametrize(
    ("columns", "mode", "is_asked"),
    [
        ([], None, False),
        ([seen("a word"), seen(None)], None, False),
        ([seen("33.8510", None), seen("AQ==")], "string", False),
        ([seen("1234", "-5"), seen("a word")], "string", False),
        ([seen("1234", "5678"), seen("AQ==", "word")], None, True),
        # Codes among words are no numbers.
        ([seen("33.8510", "none"), seen("AQ==")], None, False),
    ],
)
def test_decimals_of(columns: list[Values], mode: str | None, is_asked: bool) -> None:
    found = decimals_of(columns)
    assert (found.mode, found.question is not None) == (mode, is_asked)
