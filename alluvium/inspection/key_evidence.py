"""The changes that the search of a key plays, without those that were delivered before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .current_rows import RowChange, transaction_of
from .duplicates import Duplicates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shapes import Record

MAX_CHANGES_FOR_KEY = 20_000
"""Changes of one entity that the search of its key plays; more add time, hardly certainty."""


@dataclass
class KeyEvidence:
    """What the changes of an entity show of its key.

    Attributes:
        changes: in the order of their partitions.
        folders: of the files of these changes, one for each.
        message_keys: of the Kafka records that have one.
        duplicates: events that were delivered before, which are left out.
    """

    changes: list[RowChange] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    message_keys: list[Any] = field(default_factory=list)
    duplicates: Duplicates = field(default_factory=Duplicates)
    _places: set[tuple[int, int]] = field(default_factory=set)

    def is_copy(self, partition: int | None, offset: int | None) -> bool:
        """Whether a record of the same place in Kafka was there before, which takes the place of this one."""
        if partition is None or not isinstance(offset, int) or len(self.changes) >= MAX_CHANGES_FOR_KEY:
            return False
        is_copy = (partition, offset) in self._places
        self._places.add((partition, offset))
        return is_copy

    def add(self, op: str, record: Record, partition: int | None) -> None:
        """Add a change, unless it was delivered before.

        Args:
            op: of Debezium; r for a row.
            record: as recognised.
            partition: of Kafka, or None.
        """
        if len(self.changes) >= MAX_CHANGES_FOR_KEY or self.duplicates.is_duplicate(op, record, partition):
            return
        if op == "t":
            self.changes.append(RowChange("t", None, None))
        else:
            self.changes.append(RowChange(op, *record.images(op), transaction_of(op, record.source or {})))

    def add_folder(self, folder: str) -> None:
        """Add the folder of the changes that were added since."""
        self.folders += [folder] * (len(self.changes) - len(self.folders))

    def moved_keys(self, key: Sequence[str]) -> int:
        """Number of keys with rows in more than one folder; 0 where the key is not known."""
        folders: dict[tuple[str, ...], set[str]] = {}
        for change, folder in zip(self.changes, self.folders, strict=True):
            image = change.after or change.before
            if key and image is not None:
                folders.setdefault(tuple(str(image.get(name)) for name in key), set()).add(folder)
        return sum(len(found) > 1 for found in folders.values())
