"""How a connector without schemas writes decimals: as texts of numbers, or as bytes in base64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .types import may_be_base64

if TYPE_CHECKING:
    from collections.abc import Collection

    from .types import Values


@dataclass(frozen=True)
class Decimals:
    """How decimals are written.

    Attributes:
        mode: of ``decimal.handling.mode``, where the values show it; else None.
        question: what they cannot tell, or None.
    """

    mode: str | None = None
    question: str | None = None


def decimals_of(columns: Collection[Values]) -> Decimals:
    """What the values of a table's columns show of its decimals.

    A number with a point is no base64. Whole numbers as texts may be, and read as such they would be other numbers.

    Args:
        columns: what was seen of each that is a text, for all that the records say.
    """
    texts = [values for values in columns if values.kinds.keys() - {"null"} == {"number"}]
    if not texts:
        return Decimals()
    if any("." in word for values in texts for word in values.words):
        return Decimals("string")
    if not any(may_be_base64(values.kinds.keys() - {"null"}) for values in columns):
        return Decimals("string")
    return Decimals(
        question="are its decimals texts (decimal_handling_mode: string), or bytes in base64 "
        "(decimal_handling_mode: precise)? Numbers as texts and texts that look like base64 are both there."
    )
