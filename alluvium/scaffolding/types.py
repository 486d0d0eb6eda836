"""Whether a declared type still holds what the files have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alluvium.inspection.types import ProposedType

# Each holds those before it.
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double")


_TIMES = ("date", "timestamp", "timestamp_ntz")


def fits(proposed: ProposedType, declared: str) -> bool:
    """Whether a column of a declared type takes what the files have.

    Args:
        proposed: by an inspection.
        declared: type in the source's YAML.
    """
    found, declared = (re.sub(r"\s", "", name.lower()) for name in (proposed.data_type, declared))
    kind, wanted = _base(found), _base(declared)
    looks = proposed.why.partition(" in ")[0].split(" and ")
    if found == declared or wanted == "string":
        return True
    if wanted in _WHOLE_NUMBERS:
        # Every whole number of plain JSON is called a bigint, however small.
        return looks == ["integer"] or _holds(_WHOLE_NUMBERS, wanted, kind)
    if wanted in _FRACTIONS:
        return kind in _WHOLE_NUMBERS or _holds(_FRACTIONS, wanted, kind)
    if wanted == "decimal":
        return _fits_decimal(found, declared)
    return kind in (*_WHOLE_NUMBERS, "string") and not (wanted in _TIMES and "text" in looks)


def _holds(kinds: tuple[str, ...], wide: str, narrow: str) -> bool:
    return narrow in kinds and kinds.index(narrow) <= kinds.index(wide)


def _base(name: str) -> str:
    found = re.split(r"[(<]", name, maxsplit=1)[0]
    return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float"}.get(
        found, found
    )


def _fits_decimal(found: str, declared: str) -> bool:
    kind = _base(found)
    if kind not in ("decimal", "string", "binary", *_WHOLE_NUMBERS, *_FRACTIONS):
        return False
    if kind != "decimal":
        return True
    (digits, scale), (found_digits, found_scale) = _digits(declared), _digits(found)
    return found_digits - found_scale <= digits - scale and found_scale <= scale


def _digits(name: str) -> tuple[int, int]:
    match = re.search(r"\((\d+)(?:,(\d+))?\)", name)
    return (int(match[1]), int(match[2] or 0)) if match else (10, 0)
