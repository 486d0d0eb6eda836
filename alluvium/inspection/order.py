"""What orders the changes of a row: the connector's own position, or what the files have beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .positions import missing_part, position_of, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .shapes import Record


@dataclass
class Placement:
    """How many of the changes that were read have a position, by the decoder's own rule.

    Attributes:
        changes: envelopes, flattened rows and truncates.
        missing: those without a position, by what is missing.
    """

    changes: int = 0
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Add a change."""
        source = source_of(record)
        self.changes += 1
        if position_of(record.op, source) is None:
            self.missing[missing_part(record.op, source)] += 1

    @property
    def missing_positions(self) -> str | None:
        """How many changes have no position, and why, in words; None where each has one."""
        if not self.missing:
            return None
        reason, _ = self.missing.most_common(1)[0]
        return f"{self.missing.total():,} of {self.changes:,} changes have no position ({reason})"


@dataclass(frozen=True)
class Offsets:
    """The offsets of a Kafka partition, by the names of its objects and the lines of those that were read.

    Attributes:
        first: the lowest that a line shows.
        last: the highest that a name or a line shows.
        gaps: number of offsets between two objects that no line has; tombstones are one cause. None where not all was
            read.
        overlaps: number of offsets that lines of two objects share.
    """

    first: int
    last: int
    gaps: int | None
    overlaps: int


def offsets_of(ranges: Iterable[tuple[int, int]], *, are_all_read: bool) -> Offsets:
    """The offsets of a partition, by the first and the last one of each of its files."""
    ordered = sorted(ranges)
    gaps = overlaps = 0
    reached = ordered[0][0] - 1
    for first, last in ordered:
        gaps += max(0, first - reached - 1)
        overlaps += max(0, min(last, reached) - first + 1)
        reached = max(reached, last)
    return Offsets(ordered[0][0], reached, gaps if are_all_read else None, overlaps)


@dataclass(frozen=True)
class Positions:
    """What the changes have to be ordered by.

    Attributes:
        missing: how many changes have no position, and why, in words; None where each has one, and for rows.
        shared: number of positions in a binlog that several changes have.
        offsets: by Kafka partition; empty where neither names nor lines have offsets.
        moved_keys: number of keys with rows in more than one Hive-style folder, whose order offsets do not tell.
    """

    missing: str | None
    shared: int
    offsets: Mapping[int, Offsets]
    moved_keys: int


@dataclass(frozen=True)
class Order:
    """What orders the changes of a row.

    Attributes:
        is_by_offset: whether it is to be declared as ``order_by: offset``.
        why: in words.
        question: what the files cannot tell, or None.
    """

    is_by_offset: bool
    why: str
    question: str | None = None


def propose_order(
    shape: str,
    missing_positions: str | None,
    partitions: int,
    *,
    has_message_keys: bool,
    times: Sequence[str],
    folder_columns: Sequence[str] = (),
) -> Order:
    """How the changes of a row are to be ordered.

    Args:
        shape: ``envelope``, ``flattened`` or ``row``.
        missing_positions: of the changes, in words; None where each has one. Rows have none.
        partitions: number of Kafka partitions with offsets in the names or the lines; 0 for none.
        has_message_keys: whether the keys of the Kafka records are there: a key's records are then in one partition.
        times: columns that may say when a row was changed.
        folder_columns: columns outside the key whose values are folders, where no line has its offset. A file there has
            the offsets of its own folder's records, of which its name tells the first.
    """
    if shape != "row" and missing_positions is None:
        return Order(False, "the connector's position")
    missing = missing_positions or "no position is in the records"
    is_by_offset = partitions == 1 or bool(partitions and has_message_keys)
    if is_by_offset and not folder_columns:
        return Order(True, f"the offsets: {missing}")
    named = {
        "row": f"sequence_by: [{next(iter(times), '...')}]",
        "flattened": "the position in add.fields",
        "envelope": "order_by: position, which rejects the changes that have none",
    }[shape]
    begin = "" if shape == "row" else f"{missing}: "
    if is_by_offset:
        asked = (
            f"{begin}does a row ever move to another folder ({', '.join(folder_columns)})? If not, order_by: offset. "
            f"If so, {named}: offsets do not order two folders."
        )
        return Order(False, "the offsets, but for rows that move", asked)
    if partitions:
        asked = (
            f"{begin}are all changes of a row in one of {partitions} partitions (order_by: offset)? If not, {named}."
        )
        return Order(False, missing_positions or "nothing in the records", asked)
    return Order(
        False,
        missing_positions or "nothing in the records or names",
        f"{begin}what orders the changes of a row: {named}?",
    )
