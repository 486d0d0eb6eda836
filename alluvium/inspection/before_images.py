"""What before images have of their rows: all columns, or only the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .current_rows import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .current_rows import RowChange

MIN_DELETES = 3
"""Deletes of known rows before their images are believed to show the key."""
MIN_UPDATES = 10
"""Updates of known rows that leave a column as it is before it is believed that none ever changes it, as it is with the
columns of a key."""

# Columns that may not be NULL have one of these, or their default, also where only the key was sent.
_NOT_SENT = (None, "", 0, False)


_WAS_ALTERED = (
    "what is its REPLICA IDENTITY? Some of its images before are whole, and others have the key alone or are missing. "
    "Say replica_identity: full only if it is FULL now and a snapshot was taken since; else default."
)


@dataclass(frozen=True)
class BeforeImages:
    """What the before images of a PostgreSQL table are.

    Attributes:
        are_full: whether they have more columns than the key; None for other connectors, where no change shows it, or
            where some do and others do not.
        question: which REPLICA IDENTITY the table has, where both were seen; else None.
    """

    are_full: bool | None
    question: str | None = None


@dataclass
class _Seen:
    """What deletes and updates show beside the columns that tell the rows apart.

    Attributes:
        equal: columns that every delete has as its row had them.
        sent: by column, the values that deletes have and that are not those of a column which was not sent.
        updated: columns that an update has changed.
        updates: of known rows.
        deletes: of known rows.
        lacks: whether a delete has no value where its row had one.
    """

    equal: set[str]
    sent: dict[str, set[str]] = field(default_factory=dict)
    updated: set[str] = field(default_factory=set)
    updates: int = 0
    deletes: int = 0
    lacks: bool = False

    def update(self, row: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        self.updates += 1
        self.updated |= {name for name in self.equal if row.get(name) != after.get(name)}

    def delete(self, row: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        self.deletes += 1
        self.equal -= {name for name in self.equal if before.get(name) != row.get(name)}
        for name in self.equal:
            if before.get(name) not in _NOT_SENT:
                self.sent.setdefault(name, set()).add(str(before[name]))
        self.lacks = self.lacks or any(value is None and row.get(name) is not None for name, value in before.items())


def columns_of_deletes(
    changes: Sequence[RowChange], unique: Sequence[str], candidates: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that every delete has as its row had them, where deletes have no full images (PostgreSQL's default).

    Args:
        changes: in the order of their partitions.
        unique: columns that tell the rows apart.
        candidates: columns that are never null, in their order.

    Returns:
        The columns, and those of them that may have been sent as their default: they have one value in all deletes, and
        few updates could have changed it. No columns at all where deletes have full images, or too few rows were
        deleted.
    """
    seen = _seen(changes, unique, candidates)
    if not seen.lacks or seen.deletes < MIN_DELETES or not seen.equal >= set(unique):
        return (), ()
    more = [name for name in candidates if name in seen.equal and name not in unique]
    various = [name for name in more if len(seen.sent.get(name, ())) > 1]
    single = [name for name in more if len(seen.sent.get(name, ())) == 1 and name not in seen.updated]
    columns = {*unique, *various, *single}
    doubtful = single if seen.updates < MIN_UPDATES else ()
    return tuple(name for name in candidates if name in columns), tuple(doubtful)


def _seen(changes: Sequence[RowChange], unique: Sequence[str], candidates: Sequence[str]) -> _Seen:
    rows: dict[Any, Mapping[str, Any]] = {}
    seen = _Seen(set(candidates))
    for change in changes:
        if change.op == "t":
            rows.clear()
        elif change.op != "d" and change.after is not None:
            key = values_of(change.after, unique)
            if change.op == "u" and key in rows:
                seen.update(rows[key], change.after)
            rows[key] = change.after
        elif change.before is not None:
            row = rows.pop(values_of(change.before, unique), None)
            if row is not None:
                seen.delete(row, change.before)
    return seen


def before_images_of(changes: Sequence[RowChange], key: Sequence[str], *, is_flattened: bool) -> BeforeImages:
    """Whether before images have values outside the key, as their rows had them.

    Args:
        changes: of the table, in the order of their partitions.
        key: its columns.
        is_flattened: whether updates never have before images.
    """
    rows: dict[Any, tuple[Mapping[str, Any], Any]] = {}
    of_updates = of_deletes = is_key_alone = lacks = False
    for change in changes:
        if change.before is not None:
            others = {name: value for name, value in change.before.items() if name not in key}
            sent = [value for value in others.values() if value not in _NOT_SENT]
            of_updates = of_updates or (bool(sent) and change.op == "u")
            row, transaction = (
                rows.pop(values_of(change.before, key), (None, None)) if change.op == "d" else (None, None)
            )
            # In a swap of keys the row that has the key is another one already.
            if row is not None and (transaction is None or transaction != change.transaction):
                # A column that is missing may have been dropped; not so all of them.
                names = others or row.keys() - set(key)
                if any(others.get(name) in _NOT_SENT and row.get(name) not in _NOT_SENT for name in names):
                    lacks, is_key_alone = True, is_key_alone or not sent
                of_deletes = of_deletes or (bool(sent) and all(row.get(name) == others[name] for name in others))
        elif change.op == "u" and not is_flattened:
            is_key_alone = True
        if change.after is not None:
            rows[values_of(change.after, key)] = (change.after, change.transaction)
    if of_updates:
        return BeforeImages(None, _WAS_ALTERED) if is_key_alone else BeforeImages(True)
    # What a column that was not sent has may be its default, and a row's own value by chance.
    return BeforeImages(False if lacks or is_key_alone else of_deletes or None)
