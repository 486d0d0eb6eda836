"""Snapshots that a table has no row in, though it had changes before: whether it was empty no event says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from datetime import datetime

    from .reading import Reading


@dataclass(frozen=True)
class MissedSnapshot:
    """The latest snapshot that a table has no row in, though it had changes before.

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


@dataclass(frozen=True)
class Snapshots:
    """What snapshots leave open about an entity.

    Attributes:
        question: whether rows that have a position each are of one snapshot; None where no such rows are there.
        missed: the latest one that has rows of other tables and none of this one; None without such a snapshot, and
            where not all files were read.
    """

    question: str | None = None
    missed: MissedSnapshot | None = None


def missed_snapshots(readings: Sequence[Reading]) -> list[MissedSnapshot | None]:
    """For each entity the latest snapshot that has none of its rows, though it had changes before.

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
    return reading.source.first_change is not None and reading.source.first_change < before


def _are_of_one(reading: Reading, other: Reading) -> bool:
    """Whether two entities are of one connector; where it is not named, a snapshot of both says so."""
    if reading.source.servers and other.source.servers:
        return bool(reading.source.servers & other.source.servers)
    return bool(reading.snapshots.keys() & other.snapshots.keys())
