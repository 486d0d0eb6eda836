"""Which columns are the primary key, and what says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MIN_DELETES = 3
"""Deletes of known rows before their images are believed to show the key."""
MAX_KEY_COLUMNS = 4
"""Longest key that is looked for in the data; a longer one has to be seen in message keys or schema changes."""


@dataclass(frozen=True)
class Key:
    """A proposed key.

    Attributes:
        columns: in their order; none where the table seems to have no key.
        why: what says so: the message key, the schema changes, the outbox router, or the data.
        question: what has to be confirmed, or None where the key is certain.
    """

    columns: tuple[str, ...]
    why: str
    question: str | None = None


@dataclass(frozen=True)
class RowChange:
    """One change of a table, for the search of its key.

    Attributes:
        op: r, c, u or d; t for a truncate.
        before: image before, or None.
        after: image after, or None.
        transaction: what all changes of one transaction share, or None.
    """

    op: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    transaction: Any = None


def key_of_messages(keys: Sequence[Any], columns: Iterable[str]) -> Key | None:
    """The key by the messages' own keys, which a sink with a store envelope keeps.

    Args:
        keys: as ``json.loads`` gives them, those that are null left out.
        columns: of the row.
    """
    names = {tuple(key) for key in keys if isinstance(key, dict)}
    if len(names) != 1 or not set(next(iter(names))) <= set(columns):
        return None
    return Key(next(iter(names)), f"the message keys of {len(keys)} records")


def key_by_data(changes: Sequence[RowChange], candidates: Sequence[str]) -> Key:
    """The key by the changes: what the images of deletes have of their rows, or else what no two rows have at once."""
    unique = _shortest_unique(changes, candidates)
    named = columns_of_deletes(changes, unique.columns, candidates) if unique.columns else ()
    if not named:
        return unique
    return Key(named, "all that the images of deletes have of their rows")


def key_of_rows(entity: str, rows: Sequence[Mapping[str, Any]], candidates: Sequence[str]) -> Key:
    """The key of bare rows, which may have one row several times: by name where no column is unique.

    Args:
        entity: name of the table, for columns that are called after it.
        rows: of the files.
        candidates: columns that are never null, in their order.
    """
    named = sorted(
        (name for name in candidates if _is_named_like_key(name)),
        key=lambda name: (
            name.lower().removesuffix("_id") not in ("id", entity.lower(), entity.lower().removesuffix("s"))
        ),
    )
    for name in named:
        count = len({str(row[name]) for row in rows})
        if count == len(rows):
            return Key((name,), f"unique in {count} rows")
    if not named:
        return Key((), f"no column of {len(rows)} rows is called like a key", "which columns are the key?")
    count = len({str(row[named[0]]) for row in rows})
    why = f"its name; {len(rows)} rows have {count} values of it"
    return Key((named[0],), why, f"is the key {named[0]}? Bare rows do not say which of them are one row.")


def columns_of_deletes(
    changes: Sequence[RowChange], unique: Sequence[str], candidates: Sequence[str]
) -> tuple[str, ...]:
    """The columns that every delete has as its row had them, where deletes have no whole images (PostgreSQL's default).

    Args:
        changes: in the order of their partitions.
        unique: columns that tell the rows apart.
        candidates: columns that are never null, in their order.

    Returns:
        None of them where deletes have whole images, or too few rows were deleted to tell.
    """
    rows: dict[Any, Mapping[str, Any]] = {}
    equal, different, seen = set(candidates), False, 0
    for change in changes:
        if change.op == "t":
            rows.clear()
        elif change.op != "d" and change.after is not None:
            rows[_values(change.after, unique)] = change.after
        elif change.before is not None:
            row = rows.pop(_values(change.before, unique), None)
            if row is not None:
                seen += 1
                equal -= {name for name in equal if change.before.get(name) != row.get(name)}
                different = different or any(
                    value is None and row.get(name) is not None for name, value in change.before.items()
                )
    if not different or seen < MIN_DELETES or not equal >= set(unique):
        return ()
    return tuple(name for name in candidates if name in equal)


# Columns that may not be NULL have one of these, or their default, also where only the key was sent.
_NOT_SENT = (None, "", 0, False)


def has_whole_images(changes: Sequence[RowChange], key: Sequence[str], *, is_flattened: bool) -> bool | None:
    """Whether images before have values outside the key, as their rows had them.

    Args:
        changes: of the table, in the order of their partitions.
        key: its columns.
        is_flattened: whether updates have no images before in any case.

    Returns:
        None where no update and no delete shows it.
    """
    rows: dict[Any, Mapping[str, Any]] = {}
    is_whole = False
    for change in changes:
        if change.before is not None:
            others = {name: value for name, value in change.before.items() if name not in key}
            sent = [value for value in others.values() if value not in _NOT_SENT]
            if sent and change.op == "u":
                return True
            row = rows.pop(_values(change.before, key), None) if change.op == "d" else None
            if row is not None:
                if any(value in _NOT_SENT and row.get(name) not in _NOT_SENT for name, value in others.items()):
                    return False
                is_whole = is_whole or (bool(sent) and all(row.get(name) == others[name] for name in others))
        elif change.op == "u" and not is_flattened:
            return False
        if change.after is not None:
            rows[_values(change.after, key)] = change.after
    return is_whole or None


def _shortest_unique(changes: Sequence[RowChange], candidates: Sequence[str]) -> Key:
    """The shortest set of columns by which the changes make sense: no two rows of a table have it at once.

    Inserts of a key that lives are allowed inside a transaction (a swap of keys) as long as one row is left at its end.

    Args:
        changes: in the order of their partitions.
        candidates: columns that are never null, in their order.
    """
    named = [name for name in candidates if _is_named_like_key(name)]
    others = [name for name in candidates if name not in named]
    images = sum(1 for change in changes if change.after)
    for length in range(1, min(MAX_KEY_COLUMNS, len(candidates)) + 1):
        for names in combinations([*named, *others], length):
            columns = tuple(name for name in candidates if name in names)
            if is_key(changes, columns):
                question = None
                if not set(columns) <= set(named) or length > 1:
                    question = f"is the key {', '.join(columns)}?"
                return Key(columns, f"unique in {images} images of the data", question)
    return Key((), f"no {MAX_KEY_COLUMNS} columns are unique in {images} images", "has the table a key?")


def _is_named_like_key(name: str) -> bool:
    lowered = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return lowered in ("id", "uuid", "sku", "code", "key") or lowered.endswith(("_id", "_no", "_key", "id", "_uuid"))


def is_key(changes: Sequence[RowChange], columns: Sequence[str]) -> bool:
    """Whether the changes make sense with these columns as the key.

    Args:
        changes: in the order of their partitions.
        columns: of the key.
    """
    rows = _LivingRows()
    for change in changes:
        if change.op == "t":
            rows.truncate()
            continue
        before, after = _values(change.before, columns), _values(change.after, columns)
        if change.op == "d":
            fits = before is not None
            rows.delete(before)
        elif after is None or (change.op == "u" and before not in (None, after)):
            fits = False
        else:
            fits = rows.write(change.op, after, change.transaction)
        if not fits:
            return False
    return rows.make_sense()


class _LivingRows:
    """How many rows each key has while the changes are played."""

    def __init__(self) -> None:
        self._rows: dict[Any, int] = {}
        self._in_snapshot: dict[Any, set[Any]] = {}
        self._taken_twice: set[Any] = set()
        self._transaction: Any = None
        self._deletes = self._deletes_of_nothing = 0

    def truncate(self) -> None:
        self._rows.clear()
        self._taken_twice.clear()

    def delete(self, key: Any) -> None:
        self._deletes += 1
        if not self._rows.get(key):
            self._deletes_of_nothing += 1
        self._rows[key] = max(0, self._rows.get(key, 0) - 1)

    def write(self, op: str, key: Any, transaction: Any) -> bool:
        if transaction is None or transaction != self._transaction:
            if not self._each_has_one_row():
                return False
            self._taken_twice.clear()
            self._transaction = transaction
        if op == "r":
            rows = self._in_snapshot.setdefault(transaction, set())
            if key in rows and transaction is not None:
                return False
            rows.add(key)
            self._rows[key] = 1
        elif op == "u":
            self._rows[key] = max(1, self._rows.get(key, 0))
        else:
            self._rows[key] = self._rows.get(key, 0) + 1
            if self._rows[key] > 1:
                self._taken_twice.add(key)
        return True

    def _each_has_one_row(self) -> bool:
        return not any(self._rows.get(key, 0) > 1 for key in self._taken_twice)

    def make_sense(self) -> bool:
        # Deletes bring the key, so most of them name a row, where the rows from before are there.
        names_rows = not self._in_snapshot or self._deletes_of_nothing * 2 <= self._deletes
        return self._each_has_one_row() and names_rows


def _values(image: Mapping[str, Any] | None, columns: Sequence[str]) -> Any:
    if image is None or any(image.get(name) is None for name in columns):
        return None
    return tuple(str(image[name]) for name in columns)
