"""What orders the changes of a row, where the connector's own position is not in the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Fields of `source` that ExtractNewRecordState has to add: one of these sets (macros/changes/source_position.sql).
_POSITIONS = (
    {"lsn"},
    {"sequence"},
    {"file", "pos"},
    {"commit_lsn", "change_lsn"},
    {"commit_scn", "scn"},
    {"ts_ms", "ord"},
)


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


def has_position(fields: Collection[str]) -> bool:
    """Whether fields of ``source`` make a position of any connector."""
    return any(position <= set(fields) for position in _POSITIONS)


def propose_order(
    shape: str,
    fields: Collection[str],
    partitions: int,
    *,
    has_message_keys: bool,
    times: Sequence[str],
    folders_by: Sequence[str] = (),
) -> Order:
    """How the changes of a row are to be ordered.

    Args:
        shape: ``envelope``, ``flattened`` or ``row``.
        fields: of ``source`` that flattened rows have.
        partitions: number of Kafka partitions with offsets in the names or the lines; 0 for none.
        has_message_keys: whether the keys of the Kafka records are there: a key's records are then in one partition.
        times: columns that may say when a row was changed.
        folders_by: columns outside the key whose values are folders, where no line has its offset. A file there has the
            offsets of its own folder's records, of which its name tells the first.
    """
    if shape == "envelope" or (shape == "flattened" and has_position(fields)):
        return Order(False, "the connector's position")
    is_by_offset = partitions == 1 or bool(partitions and has_message_keys)
    if is_by_offset and not folders_by:
        return Order(True, "the offsets: no position is in the records")
    named = f"sequence_by: [{next(iter(times), '...')}]" if shape == "row" else "the position in add.fields"
    if is_by_offset:
        asked = (
            f"does a row ever move to another folder ({', '.join(folders_by)})? If not, order_by: offset. "
            f"If so, {named}: offsets do not order two folders."
        )
        return Order(False, "the offsets, but for rows that move", asked)
    if partitions:
        asked = f"are all changes of a row in one of {partitions} partitions (order_by: offset)? If not, {named}."
        return Order(False, "nothing in the records", asked)
    return Order(False, "nothing in the records or names", f"what orders the changes of a row: {named}?")
