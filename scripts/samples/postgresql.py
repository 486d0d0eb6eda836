"""What the Debezium connector for PostgreSQL says of a database whose changes are written down here.

`plugin.name=pgoutput`, every option at its default: a table's images are those of `REPLICA IDENTITY DEFAULT`. An update
has no image before, a delete one with the key alone and the rest empty, an update of the key is a delete and a create.
Source: Debezium's documentation of the connector and of ExtractNewRecordState (`event flattening`), 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from scripts.samples.connect import Row, Schema, milliseconds, struct
from scripts.samples.sinks import Files, Record, confluent

DATE: Final = "io.debezium.time.Date"
ZONED_TIMESTAMP: Final = "io.debezium.time.ZonedTimestamp"
JSON: Final = "io.debezium.data.Json"
ENUM: Final = "io.debezium.data.Enum"

INT16: Final = Schema("int16")
INT32: Final = Schema("int32")
INT64: Final = Schema("int64")
FLOAT32: Final = Schema("float32")
TEXT: Final = Schema("string")
DAY: Final = Schema("int32", name=DATE, version=1)
DOCUMENT: Final = Schema("string", name=JSON, version=1)
MOMENT: Final = Schema("string", name=ZONED_TIMESTAMP, version=1, default="1970-01-01T00:00:00Z")

FLUSH_SIZE: Final = 300
# Bytes of the write-ahead log between two changes, and from a transaction's last change to its commit.
CHANGE: Final = 128
_COMMIT: Final = 48
_EMPTY: Final = {"int16": 0, "int32": 0, "int64": 0, "float32": 0.0, "string": "", "boolean": False}

_SOURCE: Final = {
    "version": TEXT,
    "connector": TEXT,
    "name": TEXT,
    "ts_ms": INT64,
    "snapshot": Schema("string", True, "io.debezium.data.Enum", 1, {"allowed": "true,last,false"}, "false"),
    "db": TEXT,
    "sequence": TEXT.nullable(),
    "schema": TEXT,
    "table": TEXT,
    "txId": INT64.nullable(),
    "lsn": INT64.nullable(),
    "xmin": INT64.nullable(),
}
_TRANSACTION: Final = struct(None, {"id": TEXT, "total_order": INT64, "data_collection_order": INT64}, optional=True)


def zoned(moment: datetime) -> str:
    """`io.debezium.time.ZonedTimestamp`: UTC, with no more digits of a second than there are."""
    digits = f"{moment.microsecond:06d}".rstrip("0")
    return f"{moment:%Y-%m-%dT%H:%M:%S}{'.' if digits else ''}{digits}Z"


@dataclass(frozen=True)
class Table:
    """A captured table.

    Attributes:
        name: without the schema.
        columns: in their order.
        key: the columns of the primary key.
    """

    name: str
    columns: Mapping[str, Schema]
    key: Sequence[str]

    def identity(self, row: Row) -> tuple[Any, ...]:
        """The values of the key."""
        return tuple(row[column] for column in self.key)


@dataclass(frozen=True)
class Change:
    """What the connector sends for one row: the fields of its envelope, and which kind of message it is."""

    table: Table
    op: str
    before: Row | None
    after: Row | None
    source: Row
    processed_at: int

    @property
    def envelope(self) -> Row:
        """The value with the envelope."""
        images = {"before": self.before, "after": self.after}
        return {**images, "source": self.source, "op": self.op, "ts_ms": self.processed_at, "transaction": None}

    @property
    def flattened(self) -> Row:
        """The value after ExtractNewRecordState with `delete.handling.mode=rewrite` and the sources' `add.fields`."""
        row = self.after if self.after is not None else self.before
        assert row is not None
        source = self.source
        added = {"__op": self.op, "__db": source["db"], "__table": source["table"], "__schema": source["schema"]}
        place = {"__lsn": source["lsn"], "__source_ts_ms": source["ts_ms"]}
        return {**row, **added, **place, "__deleted": "true" if self.op == "d" else "false"}


@dataclass
class Database:
    """A database, and the changes that its connector has sent.

    Attributes:
        server: `database.server.name`, the first part of a topic.
        database: its name.
        schema: of the tables.
        version: of the connector.
        lsn: the end of the write-ahead log, in bytes.
        transaction: the number of the last transaction.
    """

    server: str
    database: str
    schema: str
    version: str
    lsn: int
    transaction: int
    rows: dict[str, dict[tuple[Any, ...], Row]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    _committed: int | None = None

    def topic(self, table: Table) -> str:
        """`<server>.<schema>.<table>`."""
        return f"{self.server}.{self.schema}.{table.name}"

    def snapshot(self, content: Mapping[str, tuple[Table, Sequence[Row]]], at: datetime) -> None:
        """The initial snapshot: a read for every row, all at one lsn, table after table."""
        total = sum(len(rows) for _, rows in content.values())
        sent = 0
        for table, rows in content.values():
            held = self.rows.setdefault(table.name, {})
            for row in rows:
                sent += 1
                held[table.identity(row)] = row
                self._send(table, "r", None, row, at, snapshot="last" if sent == total else "true")

    def commit(self, at: datetime, *changes: tuple[str, Table, Any]) -> None:
        """One transaction.

        Args:
            at: when it was committed.
            changes: `("insert", table, row)`, `("update", table, (key, new values))`, `("delete", table, key)`.
        """
        self.transaction += 1
        for kind, table, detail in changes:
            self.lsn += CHANGE
            getattr(self, f"_{kind}")(table, detail, at)
        self.lsn += _COMMIT
        self._committed = self.lsn

    def content(self, table: Table) -> list[Row]:
        """The table's rows as they are now, by key."""
        return [row for _, row in sorted(self.rows[table.name].items())]

    def _insert(self, table: Table, row: Row, at: datetime) -> None:
        held = self.rows.setdefault(table.name, {})
        assert table.identity(row) not in held, (table.name, row)
        held[table.identity(row)] = row
        self._send(table, "c", None, row, at)

    def _update(self, table: Table, detail: tuple[tuple[Any, ...], Row], at: datetime) -> None:
        identity, values = detail
        old = self.rows[table.name].pop(identity)
        row = {**old, **values}
        assert table.identity(row) not in self.rows[table.name], (table.name, row)
        self.rows[table.name][table.identity(row)] = row
        if table.identity(row) == identity:
            self._send(table, "u", None, row, at)
        else:
            self._send(table, "d", self._key_alone(table, old), None, at)
            self._send(table, "c", None, row, at)

    def _delete(self, table: Table, identity: tuple[Any, ...], at: datetime) -> None:
        self._send(table, "d", self._key_alone(table, self.rows[table.name].pop(identity)), None, at)

    @staticmethod
    def _key_alone(table: Table, row: Row) -> Row:
        """A column that is not null has its default in such an image, or its type's zero."""

        def value(name: str, schema: Schema) -> Any:
            if name in table.key:
                return row[name]
            if schema.optional:
                return None
            return _EMPTY[schema.type] if schema.default is None else schema.default

        return {name: value(name, schema) for name, schema in table.columns.items()}

    def _send(
        self, table: Table, op: str, before: Row | None, after: Row | None, at: datetime, snapshot: str = "false"
    ) -> None:
        committed = None if self._committed is None else f'"{self._committed}"'
        source = {
            "version": self.version,
            "connector": "postgresql",
            "name": self.server,
            "ts_ms": milliseconds(at),
            "snapshot": snapshot,
            "db": self.database,
            "sequence": f'[{committed or "null"},"{self.lsn}"]',
            "schema": self.schema,
            "table": table.name,
            "txId": self.transaction,
            "lsn": self.lsn,
            "xmin": None,
        }
        self.changes.append(Change(table, op, before, after, source, milliseconds(at) + 211))


def envelope_schema(database: Database, table: Table) -> Schema:
    """The schema of a table's envelope."""
    topic = database.topic(table)
    value = struct(f"{topic}.Value", table.columns, optional=True)
    return struct(
        f"{topic}.Envelope",
        {
            "before": value,
            "after": value,
            "source": struct("io.debezium.connector.postgresql.Source", _SOURCE),
            "op": TEXT,
            "ts_ms": INT64.nullable(),
            "transaction": _TRANSACTION,
        },
    )


def flattened_schema(database: Database, table: Table) -> Schema:
    """The schema of a table's flattened rows."""
    names = {"__op": TEXT, "__db": TEXT, "__table": TEXT, "__schema": TEXT, "__lsn": INT64, "__source_ts_ms": INT64}
    added = {name: schema.nullable() for name, schema in names.items()}
    return struct(f"{database.topic(table)}.Value", {**table.columns, **added, "__deleted": TEXT.nullable()})


def records(
    database: Database, table: Table, changes: Iterable[Change], *, flattened: bool, offset: int = 0
) -> list[Record]:
    """A table's messages; the tombstone after a delete takes an offset and is in no file.

    The sinks have `behavior.on.null.values=ignore`.

    Args:
        database: whose topic it is.
        table: whose changes are taken.
        changes: in their order; those of other tables are passed by.
        flattened: whether ExtractNewRecordState is set.
        offset: of the first message.
    """
    schema = flattened_schema(database, table) if flattened else envelope_schema(database, table)
    found = []
    for change in changes:
        if change.table.name != table.name:
            continue
        found.append(Record(offset, change.flattened if flattened else change.envelope, schema))
        offset += 2 if change.op == "d" else 1
    return found


def landed(
    database: Database,
    table: Table,
    changes: Iterable[Change],
    offsets: dict[str, int],
    file_format: str,
    *,
    flattened: bool,
) -> Files:
    """Objects of a table's changes: of up to 300 records, and what is there is written each minute.

    The sinks have `flush.size=300` and `rotate.schedule.interval.ms=60000`.

    Args:
        database: whose topic it is.
        table: whose changes are taken.
        changes: in their order; those of other tables are passed by.
        offsets: of the next message by topic, 0 where there is none; counted on here.
        file_format: one of `sinks.FORMATS`.
        flattened: whether ExtractNewRecordState is set.
    """
    topic = database.topic(table)
    of_table = [change for change in changes if change.table.name == table.name]
    written: Files = {}
    for _, group in groupby(of_table, key=lambda change: change.processed_at // 60_000):
        part = list(group)
        messages = records(database, table, part, flattened=flattened, offset=offsets.get(topic, 0))
        offsets[topic] = messages[-1].offset + (2 if part[-1].op == "d" else 1)
        written |= confluent(topic, messages, file_format, FLUSH_SIZE)
    return written
