"""What stands in the place of values that an event does not have: the table of macros/rules/unavailable_values.sql."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alluvium.rules import load

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = "__debezium_unavailable_value"
# As text, inside a JSON text, as bytes in base64, and as the name-based UUID of the text.
_PLACEHOLDERS = (_PLACEHOLDER, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "b68a35a7-17ad-35b3-af2a-ae46edb4545a")
_HAS_PLACEHOLDER = re.compile("|".join(map(re.escape, _PLACEHOLDERS)))
_SHORTEST_PLACEHOLDER = min(map(len, _PLACEHOLDERS))
_PLACEHOLDER_CODES = [ord(letter) for letter in _PLACEHOLDER]


@dataclass
class UnavailableValues:
    """Values that rows do not have, fed row by row.

    Attributes:
        placeholders: by column, the number of values that the source did not send with an event.
        references: by their prefix and by column, the number of references to values that are stored elsewhere.
    """

    placeholders: Counter[str] = field(default_factory=Counter)
    references: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        for name, value in row.items():
            if isinstance(value, str | list) and is_placeholder(value):
                self.placeholders[name] += 1
            if isinstance(value, str) and (prefix := reference_in(value)):
                self.references.setdefault(prefix, Counter())[name] += 1


def unavailable_values() -> dict[str, Any]:
    """The table: ``placeholders`` by connector, and ``references``."""
    table: dict[str, Any] = load("unavailable_values")
    return table


def is_placeholder(value: str | list[Any]) -> bool:
    """Whether a value is the placeholder of its type, if the connector's has its default."""
    if isinstance(value, str):
        # Most texts are too short to hold one.
        return len(value) >= _SHORTEST_PLACEHOLDER and _HAS_PLACEHOLDER.search(value) is not None
    return value == _PLACEHOLDER_CODES or value in ([_PLACEHOLDERS[0]], [_PLACEHOLDERS[2]])


def reference_in(value: str) -> str | None:
    """The prefix of a reference to a value that is stored elsewhere, or None."""
    if not value.startswith(_STARTS):
        return None
    return next(prefix for start, prefix in _PREFIXES.items() if value.startswith(start))


def _in_base64(prefix: str) -> str:
    """As bytes begin in base64: three of them are four digits, those of the last one or two depend on what follows."""
    return b64encode(prefix[: len(prefix) // 3 * 3].encode()).decode()


_PREFIXES: dict[str, str] = {
    start: rule["prefix"]
    for rule in unavailable_values()["references"]
    for start in (rule["prefix"], _in_base64(rule["prefix"]))
}
_STARTS = tuple(_PREFIXES)
