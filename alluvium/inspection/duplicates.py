"""Events that were delivered more than once: a connector that starts again sends its last ones under other offsets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .positions import connector_of, is_snapshot_row, position_of, source_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from .shapes import Record


@dataclass(frozen=True)
class _Event:
    """One event, and where it was first delivered.

    Attributes:
        before: image before the change, or None.
        after: image after it, or None.
        place: in its transaction, or None.
        run: partition, and number of the run of changes of one kind and position in it; None where the partition is
            not known.
    """

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    place: Hashable
    run: tuple[int, int] | None


@dataclass
class Duplicates:
    """The events that were delivered so far.

    Attributes:
        doubtful: number of creates that were taken for duplicates, and may be equal rows of one COPY.
        shared_positions: positions of a binlog that several changes have, as a server leaves them that writes none
            inside of a transaction (MariaDB 11.4 with ``binlog_legacy_event_pos=OFF``): nothing orders these changes.
    """

    doubtful: int = 0
    shared_positions: set[tuple[str, ...]] = field(default_factory=set)
    _hashes: dict[tuple[str, ...], int] = field(default_factory=dict)
    _events: dict[Hashable, list[_Event]] = field(default_factory=lambda: defaultdict(list))
    _latest: dict[int, Hashable] = field(default_factory=dict)
    _runs: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def is_duplicate(self, op: str, record: Record, partition: int | None) -> bool:
        """Whether a record is an event that was delivered before: it has its position and its images.

        Args:
            op: of Debezium; the rows of a snapshot share one position, and are never taken for deliveries of one.
            record: as recognised, no plain row.
            partition: of Kafka, or None.
        """
        source = source_of(record)
        position = None if is_snapshot_row(op, source) else position_of(op, source)
        is_postgresql = connector_of(source) == "postgresql"
        if position is not None and is_postgresql:
            # The end of the transaction before may be another one in a second delivery.
            position = position[1:]
        run = self._run(partition, (op, position))
        if position is None:
            return False
        event = _Event(record.before, record.after, _place_of(record), run)
        image_hash = hash(repr((event.before, event.after)))
        # A move has a delete at the position of its create.
        is_placed_by_binlog = op in ("c", "u") and "file" in source
        if is_placed_by_binlog and self._hashes.setdefault(position, image_hash) != image_hash:
            self.shared_positions.add(position)
        # The rows of a COPY may be many of one position: without the hash each would be compared with all others.
        known = self._events[op, position, image_hash]
        same = [other for other in known if (other.before, other.after) == (event.before, event.after)]
        if op == "c" and is_postgresql:
            same = [other for other in same if None in (other.place, event.place) or other.place == event.place]
            self.doubtful += bool(same) and all(_may_be_of_one_copy(other, event) for other in same)
        known.append(event)
        return bool(same)

    def _run(self, partition: int | None, kind: Hashable) -> tuple[int, int] | None:
        if partition is None:
            return None
        if kind != self._latest.get(partition):
            self._latest[partition] = kind
            self._runs[partition] += 1
        return partition, self._runs[partition]


def _may_be_of_one_copy(first: _Event, second: _Event) -> bool:
    """Whether two creates of one lsn may be rows of one COPY: PostgreSQL sends these one after the other."""
    if first.place is not None and first.place == second.place:
        return False
    if first.run is None or second.run is None or first.run[0] != second.run[0]:
        return True
    return first.run == second.run


def _place_of(record: Record) -> Hashable:
    """Number of the event in its transaction, where the connector sends it (``provide.transaction.metadata``)."""
    transaction = record.value.get("transaction") if record.kind == "envelope" else None
    place = transaction.get("total_order") if isinstance(transaction, dict) else None
    found = (record.source or {}).get("transaction_total_order") if place is None else place
    return None if found is None else str(found)
