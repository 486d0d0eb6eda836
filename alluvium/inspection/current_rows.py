"""Changes played one after the other: which rows are current, and what contradicts a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .positions import position_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence


@dataclass(frozen=True)
class RowChange:
    """One change of a table, for the search of its key.

    Attributes:
        op: r, c, u or d; t for a truncate.
        before: image before the change, or None.
        after: image after it, or None.
        transaction: what all changes of one transaction share, and all rows of one snapshot; or None.
    """

    op: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    transaction: Hashable = None


def transaction_of(op: str, source: Mapping[str, Any]) -> Hashable:
    """What a change has in common with those of its transaction, or a row of a snapshot with the others of it.

    Args:
        op: of Debezium.
        source: of the envelope, or the fields that were added to a flattened row.

    Returns:
        None where nothing says it.
    """
    position = position_of(op, source) if op == "r" else None
    if position is not None:
        return position
    # Changes of one transaction have its commit's time in common, where its number is not sent.
    found = source.get("txId") or source.get("gtid") or source.get("ts_ms")
    return None if found is None else str(found)


@dataclass(frozen=True)
class Inserts:
    """The changes that could show that columns are no key: an update of a row tells nothing of the others.

    Attributes:
        rows: creates and rows of snapshots.
        tests: those of them that follow another row: creates, and rows of the same snapshot. A row of another snapshot
            may be one that is known.
    """

    rows: int
    tests: int


def count_inserts(changes: Sequence[RowChange]) -> Inserts:
    """The creates and rows of snapshots among changes.

    Args:
        changes: in the order of their partitions.
    """
    tests, is_any, snapshots = 0, False, set()
    for change in changes:
        tests += change.op == "c" and is_any
        tests += change.op == "r" and change.transaction is not None and change.transaction in snapshots
        is_any = change.op != "t" and (is_any or change.after is not None)
        if change.op == "r":
            snapshots.add(change.transaction)
    return Inserts(sum(change.op in ("c", "r") for change in changes), tests)


def is_key(changes: Sequence[RowChange], columns: Sequence[str]) -> bool:
    """Whether the changes make sense with these columns as the key.

    Args:
        changes: in the order of their partitions.
        columns: of the key.
    """
    rows = _replayed(changes, lambda image: values_of(image, columns))
    return rows is not None and rows.are_unique() and rows.are_named_by_deletes()


def are_shared(changes: Sequence[RowChange], columns: Sequence[str], *, are_all: bool) -> bool:
    """Whether changes show that current rows have the same values of columns, or a row changes its own.

    Other than of a key that is looked for, a column may be NULL, and deletes may name rows from before.

    Args:
        changes: in the order of their partitions.
        columns: that are said to be the key.
        are_all: whether no change between them was left out, deletes among them: else a row may be gone that was not
            seen to go.
    """
    if not are_all or any(change.op == "d" and change.before is None for change in changes):
        changes = [change for change in changes if change.op in ("r", "u")]
    rows = _replayed(changes, lambda image: None if image is None else tuple(str(image.get(name)) for name in columns))
    return rows is None or not rows.are_unique()


def _replayed(
    changes: Sequence[RowChange], key_of: Callable[[Mapping[str, Any] | None], Hashable]
) -> _CurrentRows | None:
    """The current rows after the changes; None where one of them makes no sense."""
    rows = _CurrentRows()
    for change in changes:
        if change.op == "t":
            rows.truncate()
            continue
        before, after = key_of(change.before), key_of(change.after)
        if change.op == "d":
            fits = before is not None
            rows.delete(before)
        elif after is None or (change.op == "u" and before not in (None, after)):
            fits = False
        else:
            fits = rows.write(change.op, after, change.transaction)
        if not fits:
            return None
    return rows


def has_values(image: Mapping[str, Any] | None) -> bool:
    """Whether an image says anything of its row: with REPLICA IDENTITY NOTHING it is null, or has NULLs only."""
    return image is not None and any(value is not None for value in image.values())


def values_of(image: Mapping[str, Any] | None, columns: Sequence[str]) -> tuple[str, ...] | None:
    """The values of columns as texts; None where the image or one of them is not there."""
    if image is None or any(image.get(name) is None for name in columns):
        return None
    return tuple(str(image[name]) for name in columns)


class _CurrentRows:
    """How many rows each key has while the changes are played."""

    def __init__(self) -> None:
        self._rows: dict[Any, int] = {}
        self._in_snapshot: dict[Any, set[Any]] = {}
        self._taken_twice: set[Any] = set()
        self._transaction: Any = None
        self._deletes = self._unknown_deletes = 0

    def truncate(self) -> None:
        self._rows.clear()
        self._taken_twice.clear()

    def delete(self, key: Any) -> None:
        self._deletes += 1
        if not self._rows.get(key):
            self._unknown_deletes += 1
        self._rows[key] = max(0, self._rows.get(key, 0) - 1)

    def write(self, op: str, key: Any, transaction: Any) -> bool:
        if transaction is None or transaction != self._transaction:
            if not self.are_unique():
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

    def are_unique(self) -> bool:
        """Whether no key has more than one row, now that a transaction is at its end."""
        return not any(self._rows.get(key, 0) > 1 for key in self._taken_twice)

    def are_named_by_deletes(self) -> bool:
        """Whether most deletes name a row, where the rows from before are there."""
        return not self._in_snapshot or self._unknown_deletes * 2 <= self._deletes
