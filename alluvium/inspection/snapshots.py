"""The snapshots that a table has rows of, and whether rows are of one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .positions import position_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from datetime import datetime


MIN_LONE_ROWS = 3
"""Rows of snapshots with a position of their own before it is asked whether they are the rests of some that failed."""
_ENDS = ("last", "last_in_data_collection")


@dataclass
class Snapshot:
    """What a table has of a snapshot.

    Attributes:
        begun_at: time of its first row.
        rows: how many there are.
        has_ended: whether one of them is marked as the last one, of the table or of all.
    """

    begun_at: datetime
    rows: int = 0
    has_ended: bool = False


def add_snapshot(snapshots: dict[Hashable, Snapshot], op: str, source: Mapping[str, Any], moment: datetime) -> None:
    """Note the snapshot that a change is a row of; an incremental one goes on for any time, beside the stream.

    Args:
        snapshots: by what all rows of a snapshot have in common.
        op: of Debezium.
        source: of the envelope, or the fields that were added to a flattened row.
        moment: of the change.
    """
    position = position_of(op, source) if op == "r" and source.get("snapshot") != "incremental" else None
    if position is not None:
        snapshot = snapshots.setdefault(position, Snapshot(moment))
        snapshot.begun_at = min(snapshot.begun_at, moment)
        snapshot.rows += 1
        snapshot.has_ended = snapshot.has_ended or source.get("snapshot") in _ENDS


def question_of_lone_rows(snapshots: Mapping[Hashable, Snapshot]) -> str | None:
    """What to ask where each row of a snapshot seems to have a position of its own, as no connector writes it.

    Where one of them is marked as the last row it would begin the table anew, and the rows before it would be deleted.

    Args:
        snapshots: of one table.
    """
    lone = sum(not one.has_ended and one.rows == 1 for one in snapshots.values())
    if lone < MIN_LONE_ROWS or not any(one.has_ended for one in snapshots.values()):
        return None
    return (
        f"{lone} rows of snapshots have a position each, and Debezium gives all rows of a snapshot one: are they what "
        "is left of snapshots that failed (snapshots: complete, which deletes them where a whole one follows), or rows "
        "of one snapshot (snapshots: partial)?"
    )
