"""Columns that may say what has happened to their row: no row says by itself that it is a delete."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import Values

# Of AWS DMS and GoldenGate, of Debezium, and in words; by the one that is a delete.
_OPERATIONS = {
    "D": {"I", "U", "D"},
    "d": {"c", "u", "d", "r"},
    "delete": {"insert", "update", "delete"},
    "DELETE": {"INSERT", "UPDATE", "DELETE"},
}
_OPERATION = re.compile(r"(?:^|_)(op|operation)$", re.IGNORECASE)
_FLAG = re.compile(r"(?:^|_)(is_?)?deleted$", re.IGNORECASE)


def deletes_by(name: str, values: Values) -> str | None:
    """The condition that a column seems to offer for deletes.

    Args:
        name: of the column.
        values: what was seen of it.

    Returns:
        in SQL; None of a column that says nothing of the kind.
    """
    for delete, words in _OPERATIONS.items():
        if values.words and values.words <= words and (len(values.words) > 1 or _OPERATION.search(name)):
            return f"{name} = '{delete}'"
    if not _FLAG.search(name) or not values.kinds.keys() - {"null"}:
        return None
    if values.kinds.keys() <= {"boolean", "null"}:
        return name
    return f"{name} = {1 if values.kinds['integer'] else repr('true')}"


def question_of_deletes(name: str, condition: str, data_type: str) -> str:
    """What to ask of a column that seems to offer a condition for deletes."""
    return (
        f"does {name} say which rows are deletes? Then say apply_as_deletes: {condition}; where ExtractNewRecordState "
        f"has added it, shape: flattened and add_fields_prefix. Either way say data_type: {data_type}."
    )
