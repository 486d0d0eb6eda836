"""MongoDB's documents: texts of Extended JSON, of which the macros unwrap what JSON has no type for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .types import Base64, DecimalText, Milliseconds, Text, is_like_bytes_or_number

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "_id"
"""The key of every document."""


def parse_document(text: str) -> Any:
    """A document with its fields unwrapped (`_document_fields`); deeper ones stay as they are.

    A number with a fraction is a double in the database, too, and a text is a text: decimals and bytes are wrapped.

    Args:
        text: of the document.

    Raises:
        ValueError: it is no JSON.
    """
    document = json.loads(text)
    if not isinstance(document, dict):
        return document
    return {name: _unwrapped(value) for name, value in document.items()}


def _unwrapped(value: Any) -> Any:
    if isinstance(value, str) and is_like_bytes_or_number(value):
        return Text(value)
    if not isinstance(value, dict) or not next(iter(value), "").startswith("$"):
        return value
    for name, unwrap in _WRAPPERS.items():
        if name in value:
            try:
                return unwrap(value[name])
            except (TypeError, ValueError, KeyError):
                return value
    return value


def _date(value: Any) -> Any:
    """Milliseconds; in relaxed mode a text, but for years that have more or fewer digits."""
    if isinstance(value, dict):
        value = int(value["$numberLong"])
    return value if isinstance(value, str) else Milliseconds(value)


def _binary(value: Any) -> Base64:
    return Base64(value["base64"] if isinstance(value, dict) else value)


_WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "$oid": Text,
    "$numberLong": int,
    "$numberInt": int,
    "$numberDouble": float,
    "$numberDecimal": DecimalText,
    "$date": _date,
    "$binary": _binary,
}
