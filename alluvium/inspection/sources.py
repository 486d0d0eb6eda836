"""What the ``source`` of events says: their connector, its versions, the tables, and when they were changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .positions import connector_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table_changes import TableName


@dataclass
class Source:
    """Where the events of an entity come from, fed event by event.

    Attributes:
        connectors: number of events by connector; empty for rows.
        versions: of the connectors.
        servers: logical names of the source databases.
        tables: database, schema and table, as far as events name them; more than one table is asked about.
        added_fields: what ExtractNewRecordState added to flattened rows, without its prefix (``deleted``, ``lsn``).
        first_change: time of the earliest change in the source, in UTC; None where no event has ``ts_ms``.
        last_change: time of the latest one; None with it.
    """

    connectors: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    servers: set[str] = field(default_factory=set)
    tables: set[TableName] = field(default_factory=set)
    added_fields: set[str] = field(default_factory=set)
    first_change: datetime | None = None
    last_change: datetime | None = None

    def add(self, source: Mapping[str, Any], *, is_flattened: bool) -> datetime | None:
        """Add the source of an event.

        Returns:
            When the change was made, where the event says that.
        """
        if is_flattened:
            self.added_fields |= source.keys()
        if source.get("connector"):
            self.connectors[str(source["connector"])] += 1
        if source.get("version"):
            self.versions.add(str(source["version"]))
        if source.get("name"):
            self.servers.add(str(source["name"]))
        table = source.get("table") or source.get("collection")
        if table:
            names = (source.get("db"), source.get("schema"), table)
            self.tables.add(tuple(str(name) for name in names if name))
        try:
            moment = datetime.fromtimestamp(int(source["ts_ms"]) / 1000, timezone.utc)
        except (KeyError, TypeError, ValueError, OverflowError, OSError):
            return None
        self.first_change = min(self.first_change or moment, moment)
        self.last_change = max(self.last_change or moment, moment)
        return moment

    @property
    def connector(self) -> str | None:
        """The one that most events name, or whose fields flattened rows have; None where neither tells."""
        if self.connectors:
            return self.connectors.most_common(1)[0][0]
        return connector_of(dict.fromkeys(self.added_fields))

    @property
    def names(self) -> tuple[str, ...]:
        """The tables, as text."""
        return tuple(sorted(map(".".join, self.tables)))
