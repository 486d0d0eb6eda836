"""Messages of tools other than Debezium: recognised by the fields that they have (macros/rules/message_formats.sql)."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from alluvium import rules

from .lake_tables import advice_on_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOREIGN = "foreign_message: "
"""What is wrong with a line of such a format, before the format's name: the reason code of the macros."""
_ADVICE = "Land Debezium's envelopes, or files with one row of the table in each record and its operation in a column."


def format_of(record: Mapping[str, Any]) -> str | None:
    """The name of the format that a record is of, or None.

    Args:
        record: as ``json.loads`` gives it, without what a sink or a converter has wrapped around it.
    """
    return next((name for name, marks in _candidates(tuple(record)) if _has_marks(record, marks)), None)


def advice_on(error: str) -> str | None:
    """What to do about a line of another tool, or a table, by what is wrong with it; None of all else."""
    return advice_of(error.removeprefix(FOREIGN)) if error.startswith(FOREIGN) else advice_on_table(error)


def advice_of(name: str) -> str:
    """What to do about messages of a format."""
    (found,) = (entry for entry in rules.load("message_formats") if entry["name"] == name)
    return str(found.get("advice", _ADVICE))


@cache
def _forms() -> list[tuple[str, frozenset[str], frozenset[str] | None, list[tuple[str, re.Pattern[str]]]]]:
    """Format, fields that are there, all fields that may be there, and marks of each form."""
    found = []
    for entry in rules.load("message_formats"):
        for form in entry["forms"]:
            marks = [(path, re.compile(pattern, re.DOTALL)) for path, pattern in form.get("matches", {}).items()]
            names = {path.partition(".")[0] for path, _ in marks} - {"*"} | {*form.get("has", ())}
            allowed = frozenset(names | {*form["may_have"]}) if "may_have" in form else None
            found.append((entry["name"], frozenset(names), allowed, marks))
    return found


# Records of one topic have few sets of fields; documents may have any number of them.
_CANDIDATES: dict[tuple[str, ...], list[tuple[str, list[tuple[str, re.Pattern[str]]]]]] = {}
_MAX_CANDIDATES = 10_000


def _candidates(order: tuple[str, ...]) -> list[tuple[str, list[tuple[str, re.Pattern[str]]]]]:
    """The forms that have the fields of a record."""
    found = _CANDIDATES.get(order)
    if found is None:
        fields = frozenset(order)
        found = [
            (name, marks)
            for name, names, allowed, marks in _forms()
            if names <= fields and (allowed is None or fields <= allowed)
        ]
        if len(_CANDIDATES) < _MAX_CANDIDATES:
            _CANDIDATES[order] = found
    return found


def _has_marks(record: Mapping[str, Any], marks: list[tuple[str, re.Pattern[str]]]) -> bool:
    return all(_matches(_texts(record, path), pattern) for path, pattern in marks)


def _matches(texts: Iterator[str | None], pattern: re.Pattern[str]) -> bool:
    count = 0
    for count, text in enumerate(texts, start=1):  # noqa: B007  # how many there were
        if text is None or not pattern.search(text):
            return False
    return count > 0


def _texts(record: Mapping[str, Any], path: str) -> Iterator[str | None]:
    """As ``get_json_object`` gives them."""
    if path == "*":
        # A union has one member: the text of others would take long.
        yield from (_text(value) if len(value) == 1 else None for value in record.values() if isinstance(value, dict))
        return
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    yield _text(value)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
