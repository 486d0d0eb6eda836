"""What orders the changes of a row: the connector's own position, or what the files have beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .positions import missing_part, position_of, source_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    def said(self) -> str | None:
        """What is missing, in words; None where each change has a position."""
        if not self.missing:
            return None
        reason, _ = self.missing.most_common(1)[0]
        return f"{self.missing.total():,} of {self.changes:,} changes have no position ({reason})"


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
    unplaced: str | None,
    partitions: int,
    *,
    has_message_keys: bool,
    times: Sequence[str],
    folders_by: Sequence[str] = (),
) -> Order:
    """How the changes of a row are to be ordered.

    Args:
        shape: ``envelope``, ``flattened`` or ``row``.
        unplaced: that changes have no position, in words; None where all have one. Rows have none.
        partitions: number of Kafka partitions with offsets in the names or the lines; 0 for none.
        has_message_keys: whether the keys of the Kafka records are there: a key's records are then in one partition.
        times: columns that may say when a row was changed.
        folders_by: columns outside the key whose values are folders, where no line has its offset. A file there has the
            offsets of its own folder's records, of which its name tells the first.
    """
    if shape != "row" and unplaced is None:
        return Order(False, "the connector's position")
    missing = unplaced or "no position is in the records"
    is_by_offset = partitions == 1 or bool(partitions and has_message_keys)
    if is_by_offset and not folders_by:
        return Order(True, f"the offsets: {missing}")
    named = {
        "row": f"sequence_by: [{next(iter(times), '...')}]",
        "flattened": "the position in add.fields",
        "envelope": "order_by: position, which rejects the changes that have none",
    }[shape]
    begin = "" if shape == "row" else f"{missing}: "
    if is_by_offset:
        asked = (
            f"{begin}does a row ever move to another folder ({', '.join(folders_by)})? If not, order_by: offset. "
            f"If so, {named}: offsets do not order two folders."
        )
        return Order(False, "the offsets, but for rows that move", asked)
    if partitions:
        asked = (
            f"{begin}are all changes of a row in one of {partitions} partitions (order_by: offset)? If not, {named}."
        )
        return Order(False, unplaced or "nothing in the records", asked)
    return Order(
        False, unplaced or "nothing in the records or names", f"{begin}what orders the changes of a row: {named}?"
    )
