"""A table of a database that keeps its own true content, and the change events that Debezium would write of it.

A history is a list of commands. Those that the table refuses (an insert of a key that is taken, an update of a row
that is not there) are passed over, so that any part of a history is a history: that is what makes it possible to
shrink one.

Many histories are played in one table, each on rows of its own (`history` is a column of the key). What concerns the
whole table, truncates and snapshots, they have in common: an epoch begins with each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.events import NOON_MS, Event, mysql, postgresql

MARK = "__debezium_unavailable_value"
KEY = ("history", "id")
COLUMNS = {"history": "int", "id": "int", "name": "string", "body": "string", "tags": "array<string>", "size": "int"}
# Values that begin so are stored out of line, and are not sent with an update that leaves them as they are.
LONG = "long"

Values = dict[str, Any]
RowKey = tuple[int, int]
Arrivals = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Command:
    """One statement.

    Attributes:
        kind: insert, update, delete, move (to another key), rotate (keys of several rows, checked at the transaction's
            end), replace (a new row takes the key before the old one is deleted), reread (an incremental snapshot reads
            the row), reject (a line that is no event of the table; `values` has its reason).
        row: the row's `id`.
        to: where a move goes; the other ids of a rotation; the `size` that the replacing row gets while both are there,
            or, where it is not positive, the opposite of what the replaced row gets; of a reread a number, if it is
            `read.only`.
        values: columns that the statement sets.
        arrivals: for each event of the statement the rounds in which it is delivered, in turn.
    """

    kind: str
    row: int = 0
    to: tuple[int, ...] = ()
    values: Values = field(default_factory=dict)
    arrivals: Arrivals = ((0,),)


@dataclass(frozen=True)
class Transaction:
    """Statements that are committed together.

    Attributes:
        commands: its statements.
        is_open_before: its changes are logged before those of the transaction that is committed before it (where they
            touch other rows), or before the snapshot that begins the epoch.
        is_of_reset: it is a part of the transaction that truncates the table at the beginning of the epoch.
    """

    commands: tuple[Command, ...]
    is_open_before: bool = False
    is_of_reset: bool = False


@dataclass(frozen=True)
class Epoch:
    """What one history does between two resets.

    Attributes:
        transactions: in the order of their commits.
        unseen: statements before the snapshot that begins the epoch, of which no event was sent.
        snapshot_arrivals: as `Command.arrivals`, for the rows of that snapshot.
    """

    transactions: tuple[Transaction, ...] = ()
    unseen: tuple[Command, ...] = ()
    snapshot_arrivals: Arrivals = ((0,),)


@dataclass(frozen=True)
class History:
    """The life of a few rows.

    Attributes:
        number: in the column `history`, from 1.
        epochs: one for each reset of the table.
        label: how its events are delivered, for the report of a failure.
    """

    number: int
    epochs: tuple[Epoch, ...]
    label: str = ""


@dataclass(frozen=True)
class Reset:
    """How an epoch begins, for the whole table.

    Attributes:
        kind: nothing, snapshot, interrupted (a snapshot that does not come to its end) or truncate.
        arrivals: rounds in which the truncate, or the snapshot's last row, is delivered.
    """

    kind: str = "nothing"
    arrivals: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Table:
    """What all histories of a table share.

    Attributes:
        connector: postgresql or mysql.
        replica_identity: of a PostgreSQL table: default or full.
        resets: one for each epoch.
    """

    connector: str = "postgresql"
    replica_identity: str = "default"
    resets: tuple[Reset, ...] = (Reset(),)

    @property
    def has_whole_images(self) -> bool:
        """Whether every event has every value, of before the change, too."""
        return self.connector == "mysql" or self.replica_identity == "full"

    @property
    def checks_keys_late(self) -> bool:
        """Whether two rows may have one key inside a transaction: PostgreSQL wants whole images for that."""
        return self.connector == "postgresql" and self.replica_identity == "full"


@dataclass(frozen=True)
class Record:
    """One line as it is delivered.

    Attributes:
        history: whose, 0 for what concerns the whole table.
        event: the event; text for a line that is none.
        arrivals: rounds, one for each delivery.
        reason: why the line is rejected.
    """

    history: int
    event: Event | str
    arrivals: tuple[int, ...]
    reason: str | None = None


@dataclass(frozen=True)
class Recording:
    """What a history leaves.

    Attributes:
        records: in the order of the commits.
        content: the rows of the table in the end.
    """

    records: list[Record]
    content: dict[RowKey, Values]


BLOCK, FIRST_OPEN, OWN, READ, COMMIT = 40, 2, 20, 37, 39
STRIDE = 10_000


class Clock:
    """Positions in the log, apart for each history, between those of the resets."""

    def __init__(self, table: Table, history: int) -> None:
        """Starts at the first epoch."""
        self.table = table
        self.history = history

    @staticmethod
    def reset(epoch: int) -> int:
        """Position of the reset that begins an epoch. They grow in digits: as text they do not sort."""
        return int(9_900_000 * 10**epoch)

    def tick(self, epoch: int, tick: int) -> int:
        """A position of this history: the epoch's transactions are from tick 0 on, below the reset what is negative."""
        return self.reset(epoch) + tick * STRIDE + self.history

    @staticmethod
    def micros(epoch: int, transaction: int) -> int:
        """When a transaction was committed; two in a row share it."""
        return NOON_MS * 1000 + (epoch * 1_000_000 + (transaction + 2) // 2) * 1000


@dataclass
class _Change:
    """One row change before it has a position.

    Attributes:
        op: c, u, d, or r for an incremental snapshot's row.
        before: the row before.
        after: the row after.
        statement: number of the statement in its transaction.
        step: changes of one step share a position.
        arrivals: rounds.
    """

    op: str
    before: Values | None
    after: Values | None
    statement: int
    step: int
    arrivals: tuple[int, ...]


class Player:
    """Plays one history in a table."""

    def __init__(self, table: Table, history: History) -> None:
        """Starts with an empty table."""
        self.table = table
        self.history = history
        self.clock = Clock(table, history.number)
        self.rows: dict[int, Values] = {}
        self.records: list[Record] = []

    def play(self) -> Recording:
        """Plays all of it."""
        for number, (reset, epoch) in enumerate(zip(self.table.resets, self.history.epochs, strict=True)):
            self._begin(number, reset, epoch)
            touched: set[int] = set()
            for index, transaction in enumerate(epoch.transactions):
                touches = _touched(transaction)
                # A binlog has transactions whole, one behind the other.
                is_open_before = (
                    self.table.connector == "postgresql"
                    and transaction.is_open_before
                    and (not touched & touches if index else reset.kind in ("snapshot", "interrupted"))
                )
                self._commit(number, index, transaction, is_open_before, reset)
                touched = touches
        content = {(self.history.number, key): dict(row) for key, row in self.rows.items()}
        return Recording(self.records, content)

    def _begin(self, number: int, reset: Reset, epoch: Epoch) -> None:
        if reset.kind == "truncate":
            self.rows.clear()
        if reset.kind not in ("snapshot", "interrupted"):
            return
        for command in epoch.unseen:
            for _ in self._changes(command, 0):
                pass
        rows = list(self.rows.values())
        shown = rows[: (len(rows) + 1) // 2] if reset.kind == "interrupted" else rows
        for index, row in enumerate(shown):
            event = snapshot_row(self.table, number, self._image(row), "true")
            arrivals = epoch.snapshot_arrivals[index % len(epoch.snapshot_arrivals)]
            self.records.append(Record(self.history.number, event, arrivals))

    def _commit(self, epoch: int, index: int, transaction: Transaction, is_open_before: bool, reset: Reset) -> None:
        is_of_reset = (
            index == 0 and transaction.is_of_reset and reset.kind == "truncate" and self.table.connector == "postgresql"
        )
        commit = (
            self.clock.reset(epoch)
            if is_of_reset
            else self.clock.tick(epoch, BLOCK * (index - 1) + COMMIT if index else 0)
        )
        ticks = iter(range(BLOCK * (index - 1) + FIRST_OPEN if is_open_before else BLOCK * index + OWN, 10_000))
        if is_open_before and index == 0:
            ticks = iter(range(-30, 0))
        step, position, number_in_statement = -1, 0, -1
        statement = -1
        for change in self._all_changes(transaction):
            if isinstance(change, Record):
                self.records.append(change)
                continue
            if change.step != step:
                # The rows of one statement share a position in a binlog, and are numbered.
                if change.statement != statement or self.table.connector == "postgresql":
                    position, number_in_statement = self.clock.tick(epoch, next(ticks)), -1
                step, statement = change.step, change.statement
                number_in_statement += 1
            if change.op == "r":
                # With `read.only` a window closes at a commit, the one that the next transaction's changes name.
                is_read_only = bool(transaction.commands[change.statement].to)
                event = self._incremental_row(epoch, BLOCK * index + (COMMIT if is_read_only else READ), index, change)
            else:
                event = self._event(epoch, index, change, commit, position, number_in_statement)
            self.records.append(Record(self.history.number, event, change.arrivals))

    def _all_changes(self, transaction: Transaction) -> Iterator[_Change | Record]:
        steps = 0
        for statement, command in enumerate(transaction.commands):
            if command.kind == "reject":
                yield Record(
                    self.history.number, self._rejected(command), command.arrivals[0], command.values["reason"]
                )
                continue
            last = -1
            for change in self._changes(command, statement):
                if change.step != last:
                    steps, last = steps + 1, change.step
                change.step = steps
                yield change

    def _changes(self, command: Command, statement: int) -> Iterator[_Change]:
        """The row changes of a statement, made to the table as they go; `step` counts inside the statement."""
        count = 0

        def change(op: str, before: Values | None, after: Values | None, step: int) -> _Change:
            nonlocal count
            count += 1
            return _Change(op, before, after, statement, step, command.arrivals[(count - 1) % len(command.arrivals)])

        row, rows = self.rows.get(command.row), self.rows
        if command.kind == "insert" and row is None:
            rows[command.row] = self._row(command.row, command.values)
            yield change("c", None, rows[command.row], 0)
        elif command.kind == "update" and row is not None:
            rows[command.row] = row | command.values
            yield change("u", row, rows[command.row], 0)
        elif command.kind == "delete" and row is not None:
            del rows[command.row]
            yield change("d", row, None, 0)
        elif command.kind == "move" and row is not None and command.to[0] not in rows:
            rows[command.to[0]] = rows.pop(command.row) | command.values | {"id": command.to[0]}
            yield change("d", row, None, 0)
            yield change("c", row, rows[command.to[0]], 0)
        elif command.kind == "replace" and row is not None and self.table.checks_keys_late:
            rows[command.row] = self._row(command.row, command.values)
            yield change("c", None, rows[command.row], 0)
            if command.to and command.to[0] > 0:
                new = rows[command.row]
                rows[command.row] = new | {"size": command.to[0]}
                yield change("u", new, rows[command.row], 1)
            elif command.to:
                replaced, row = row, row | {"size": -command.to[0]}
                yield change("u", replaced, row, 1)
            yield change("d", row, None, 2)
        elif command.kind == "rotate" and row is not None and self.table.checks_keys_late:
            ids = [command.row, *(id_ for id_ in dict.fromkeys(command.to) if id_ in rows and id_ != command.row)]
            moved = {
                target: rows[old] | command.values | {"id": target}
                for old, target in zip(ids, [*ids[1:], ids[0]], strict=True)
            }
            if len(ids) > 1:
                for step, (old, target) in enumerate(zip(ids, [*ids[1:], ids[0]], strict=True)):
                    yield change("d", rows[old], None, step)
                    yield change("c", rows[old], moved[target], step)
                rows.update(moved)
        elif command.kind == "reread" and row is not None and self.table.connector == "postgresql":
            yield change("r", None, row, 0)

    def _row(self, id_: int, values: Mapping[str, Any]) -> Values:
        empty: Values = {"name": None, "body": None, "tags": None, "size": 0}
        return {"history": self.history.number, "id": id_} | empty | dict(values)

    def _event(self, epoch: int, index: int, change: _Change, commit: int, position: int, number: int) -> Event:
        whole, row = self.table.has_whole_images, change.after or change.before or {}
        before = change.before if whole or change.op == "d" else None
        if change.op == "d":
            # Replica identity DEFAULT: what cannot be NULL has a zero, the rest is NULL.
            image = self._image(row) if whole else self._image(self._row(row["id"], {}))
        else:
            image = self._image(row, None if whole or (change.op == "c" and change.before is None) else change.before)
        micros = self.clock.micros(epoch, index)
        if self.table.connector == "mysql":
            event = mysql(change.op, f"binlog.{999_998 + epoch:06d}", position, image, binlog_row=number)
            event["source"] |= {"ts_ms": micros // 1_000_000 * 1000, "ts_us": micros // 1_000_000 * 1_000_000}
            event["before"] = None if before is None or change.op == "c" else self._image(before)
            return event
        source: Any = {"ts_ms": micros // 1000, "ts_us": micros, "txId": epoch * 1000 + index}
        event = postgresql(change.op, position, image, commit=commit, **source)
        if change.op == "u" and before is not None:
            event["before"] = self._image(before)
        return event

    def _incremental_row(self, epoch: int, tick: int, index: int, change: _Change) -> Event:
        watermark = str(self.clock.tick(epoch, tick))
        micros = self.clock.micros(epoch, index)
        event = postgresql("r", None, self._image(change.after or {}), snapshot="incremental", txId=None)
        event["source"] |= {
            "lsn": None,
            "sequence": json.dumps([watermark, watermark]),
            "ts_ms": micros // 1000,
            "ts_us": micros,
        }
        return event

    @staticmethod
    def _image(row: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Event:
        """The row as JSON, with marks where a value out of line is the one before."""
        image = dict(row)
        if before is not None:
            if is_long(row["body"]) and row["body"] == before["body"]:
                image["body"] = MARK
            if is_long(row["tags"]) and row["tags"] == before["tags"]:
                image["tags"] = [MARK]
        return image

    def _rejected(self, command: Command) -> Event | str:
        """A line that is no event of the table: `values` has the reason and a number that tells it from others."""
        row = self._row(command.row, {"size": command.values["number"]})
        position = self.clock.reset(len(self.table.resets)) + command.values["number"]

        def event(op: str, row: Event | None) -> Event:
            if self.table.connector == "mysql":
                return mysql(op, "binlog.1999999", position, row)
            return postgresql(op, position, row)

        reason = command.values["reason"]
        if reason == "malformed_json":
            return json.dumps(event("u", row))[:-7]
        if reason == "unknown_shape":
            return {"hello": position}
        if reason == "unknown_op":
            return event("x", row)
        if reason == "missing_key":
            return event("u", {name: value for name, value in row.items() if name != "id"})
        if reason == "unknown_column":
            return event("u", row | {"more": 1})
        if reason == "missing_position":
            return event("u", row) | {"source": {"ts_ms": NOON_MS}}
        return event("u", row | {"size": "twelve"})


REJECT_REASONS = (
    "malformed_json",
    "unknown_shape",
    "unknown_op",
    "missing_key",
    "missing_position",
    "unknown_column",
    "type_misfit",
)


def is_long(value: Any) -> bool:
    """Whether a value is stored out of line."""
    return str(value[0] if isinstance(value, list) and value else value).startswith(LONG)


def _touched(transaction: Transaction) -> set[int]:
    """Rows that it writes."""
    return {id_ for command in transaction.commands if command.kind != "reread" for id_ in (command.row, *command.to)}


def snapshot_row(table: Table, epoch: int, image: Event, marker: str) -> Event:
    """A row of the snapshot that begins an epoch."""
    micros = Clock.micros(epoch, -2)
    if table.connector == "mysql":
        event = mysql("r", f"binlog.{999_998 + epoch:06d}", 4, image, snapshot=marker)
    else:
        event = postgresql("r", Clock.reset(epoch), image, snapshot=marker)
    event["source"] |= {"ts_ms": micros // 1000, "ts_us": micros}
    return event


def records_of_resets(table: Table) -> list[Record]:
    """Truncates, and the last row of each snapshot: a row of history 0 that only snapshots write."""
    records = []
    for number, reset in enumerate(table.resets):
        if reset.kind == "truncate":
            if table.connector == "mysql":
                event = mysql("t", f"binlog.{999_998 + number:06d}", 5, None)
            else:
                event = postgresql("t", Clock.reset(number) + 1, None, commit=Clock.reset(number))
            micros = Clock.micros(number, -2)
            event["source"] |= {"ts_ms": micros // 1000, "ts_us": micros}
            records.append(Record(0, event, reset.arrivals))
        elif reset.kind == "snapshot":
            image = {"history": 0, "id": 0, "name": f"snapshot {number}", "body": None, "tags": None, "size": number}
            marker = "last" if number % 2 else "last_in_data_collection"
            records.append(Record(0, snapshot_row(table, number, image, marker), reset.arrivals))
    return records


def play(table: Table, histories: Sequence[History]) -> Recording:
    """Plays histories in one table."""
    records = records_of_resets(table)
    content: dict[RowKey, Values] = {}
    for history in histories:
        recording = Player(table, history).play()
        records += recording.records
        content |= recording.content
    kinds = [reset.kind for reset in table.resets]
    last = max((number for number, kind in enumerate(kinds) if kind in ("snapshot", "truncate")), default=None)
    if last is not None and kinds[last] == "snapshot":
        content[0, 0] = {"history": 0, "id": 0, "name": f"snapshot {last}", "body": None, "tags": None, "size": last}
    return Recording(records, content)
