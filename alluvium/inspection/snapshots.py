"""What snapshots leave open: whether a table that has no row in one was empty, and whether rows are of one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .positions import position_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import datetime

    from .reading import Reading


@dataclass(frozen=True)
class MissedSnapshot:
    """The newest snapshot that a table has no row in, though it had changes before.

    Attributes:
        taken_at: time of the snapshot's first row.
        entities: that have rows in it, by their places among those of the location.
    """

    taken_at: datetime
    entities: tuple[int, ...]

    @property
    def question(self) -> str:
        """What the files cannot tell, in words: no event says that a table was empty."""
        others = f"{len(self.entities)} other tables" if len(self.entities) > 1 else "another table"
        return (
            f"the snapshot of {self.taken_at:%Y-%m-%d %H:%M:%S} UTC has rows of {others}, and none of this one, which "
            "had changes before: was it empty (snapshots: complete), or was it not asked for (snapshots: partial)?"
        )


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


def missed_snapshots(readings: Sequence[Reading]) -> list[MissedSnapshot | None]:
    """For each entity the newest snapshot that has none of its rows, though it had changes before.

    At least half of the tables that had changes before have rows in it: one of a single table, asked for by a signal,
    says nothing of the others.

    Args:
        readings: of all entities of a location.
    """
    return [_missed(reading, readings) for reading in readings]


def _missed(reading: Reading, readings: Sequence[Reading]) -> MissedSnapshot | None:
    peers = {
        place: other for place, other in enumerate(readings) if other is not reading and _are_of_one(reading, other)
    }
    times: dict[Hashable, datetime] = {}
    for other in peers.values():
        for position, snapshot in other.snapshots.items():
            times[position] = min(times.get(position, snapshot.begun_at), snapshot.begun_at)
    for position, taken_at in sorted(times.items(), key=lambda entry: entry[1], reverse=True):
        if position in reading.snapshots or not _had_changes(reading, taken_at):
            return None
        older = [place for place, other in peers.items() if _had_changes(other, taken_at)]
        having = [place for place in older if position in peers[place].snapshots]
        if having and len(having) * 2 >= len(older):
            return MissedSnapshot(taken_at, tuple(having))
    return None


def _had_changes(reading: Reading, before: datetime) -> bool:
    return reading.first_change is not None and reading.first_change < before


def _are_of_one(reading: Reading, other: Reading) -> bool:
    """Whether two entities are of one connector; where it is not named, a snapshot of both says so."""
    if reading.servers and other.servers:
        return bool(reading.servers & other.servers)
    return bool(reading.snapshots.keys() & other.snapshots.keys())
