"""How a connector without schemas writes decimals: as texts of numbers, or as bytes in base64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .types import may_be_base64

if TYPE_CHECKING:
    from collections.abc import Collection

    from .types import Values

_NUMBERS = {"integer", "fraction"}


@dataclass(frozen=True)
class Decimals:
    """How decimals are written.

    Attributes:
        mode: of ``decimal.handling.mode``, or of ``decimal.format``, where the values show it; else None.
        question: what they cannot tell, or None.
        option: of the source, which ``mode`` is written to.
    """

    mode: str | None = None
    question: str | None = None
    option: str = "decimal_handling_mode"


def decimals_of(texts: Collection[Values], declared: Collection[Values] = ()) -> Decimals:
    """What the values of a table's columns show of its decimals.

    A number with a point is no base64, nor is a decimal of MongoDB's. Whole numbers as texts may be, and read as such
    they would be other numbers.

    Args:
        texts: what was seen of each column that is a text, for all that the records say.
        declared: what was seen of each that is a decimal by its declaration.
    """
    columns = [*texts, *declared]
    if any("decimal" in values.kinds for values in columns):
        return Decimals("string")
    if any(values.looks and values.looks <= _NUMBERS for values in declared):
        return Decimals(
            question="are its decimals doubles (decimal_handling_mode: double), or exact JSON numbers "
            "(decimal_handling_mode: double, decimal_format: numeric)? A double keeps 15 digits."
        )
    numbers = [values for values in columns if values.looks == {"number"}]
    if not numbers:
        return Decimals()
    if any("." in word for values in numbers for word in values.words):
        return Decimals("string")
    if not any(may_be_base64(values.looks) for values in columns):
        return Decimals("string")
    return Decimals(
        question="are its decimals texts (decimal_handling_mode: string), or bytes in base64 "
        "(decimal_handling_mode: precise)? Numbers as texts and texts that look like base64 are both there."
    )


def decimals_of_schemas(columns: Collection[Values]) -> Decimals:
    """What the values of columns show that are decimals by a schema in the records.

    JsonConverter's ``decimal.format=NUMERIC`` sends JSON numbers beside a schema that says bytes.
    """
    looks = [values.looks for values in columns if values.looks]
    if not any(look & _NUMBERS for look in looks):
        return Decimals()
    if all(look <= _NUMBERS for look in looks):
        return Decimals("numeric", option="decimal_format")
    return Decimals(
        question="which decimal_format do its files have: numeric or base64? Some decimals are JSON numbers, others "
        "bytes in base64. A table of the source reads one.",
        option="decimal_format",
    )
