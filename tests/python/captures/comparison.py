"""Compares the rows of a table with what they should be, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Row = dict[str, str | None]
Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Difference:
    """One row or cell that is not as it should be.

    Attributes:
        kind: ``missing`` row, ``extra`` row, ``duplicate`` row of a key, or differing ``column``.
        key: of the row; for a table without key all its cells.
        column: name, empty for a whole row.
        expected: canonical text, None for NULL and for rows.
        actual: canonical text, None for NULL and for rows.
    """

    kind: str
    key: Key
    column: str = ""
    expected: str | None = field(default=None, compare=False)
    actual: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.kind == "column":
            return f"{_short(self.key)}.{self.column}: expected {_short(self.expected)}, found {_short(self.actual)}"
        return f"{self.kind} row {_short(self.key)}"


@dataclass(frozen=True)
class Comparison:
    """Result of comparing one table.

    Attributes:
        cells: cells that both sides have and that were compared.
        differences: every difference, in order of the keys.
    """

    cells: int
    differences: tuple[Difference, ...]


def compare(expected: Iterable[Row], actual: Iterable[Row], key: Sequence[str], columns: Sequence[str]) -> Comparison:
    """Compares two sets of rows of canonical texts.

    Args:
        expected: rows, each with at least `columns`.
        actual: rows, each with at least `columns`.
        key: columns that identify a row; empty if none do, then equal rows are counted.
        columns: columns to compare, `key` included.
    """
    if not key:
        return _compare_counts(expected, actual, columns)
    wanted = {tuple(row[name] for name in key): row for row in expected}
    differences: list[Difference] = []
    seen: set[Key] = set()
    cells = 0
    for row in actual:
        identity = tuple(row[name] for name in key)
        if identity in seen or identity not in wanted:
            differences.append(Difference("duplicate" if identity in seen else "extra", identity))
            seen.add(identity)
            continue
        seen.add(identity)
        cells += len(columns)
        differences += [
            Difference("column", identity, name, wanted[identity][name], row[name])
            for name in columns
            if wanted[identity][name] != row[name]
        ]
    differences += [Difference("missing", identity) for identity in wanted if identity not in seen]
    return Comparison(cells, tuple(sorted(differences, key=_order)))


def _compare_counts(expected: Iterable[Row], actual: Iterable[Row], columns: Sequence[str]) -> Comparison:
    wanted = Counter(tuple(row[name] for name in columns) for row in expected)
    found = Counter(tuple(row[name] for name in columns) for row in actual)
    missing = [Difference("missing", key) for key in (wanted - found).elements()]
    extra = [Difference("extra", key) for key in (found - wanted).elements()]
    cells = (wanted & found).total() * len(columns)
    return Comparison(cells, tuple(sorted(missing + extra, key=_order)))


def _order(difference: Difference) -> tuple[list[str], str, str]:
    return [part or "" for part in difference.key], difference.column, difference.kind


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"
