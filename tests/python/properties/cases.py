"""A table of many histories, the feeds that it is delivered to, and what has to be in their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pipeline.events import Event, text
from pipeline.project import Feed, Project, Row

from . import delivery
from .database import COLUMNS, KEY, Epoch, History, Record, RowKey, Table, Values, play
from .generator import Shape, histories
from .model import VALUES, Position, StateRow, current_state, read

# How a delivery is told from another of the same event: the last parts of a position.
PARTS = {"postgresql": 3, "mysql": 4}


@dataclass(frozen=True)
class Case:
    """Histories of one table, delivered twice: in rounds, and sorted in one batch.

    Attributes:
        name: of the feed, unique over all cases.
        shape: of the histories.
        histories: these.
        seed: of their delivery.
        copies: whole files are delivered again.
        is_declared: the feed declares the table's replica identity.
        models: of the feed that is delivered in rounds.
        is_sorted_too: there is a feed that has all of it in one sorted batch.
    """

    name: str
    shape: Shape
    histories: tuple[History, ...]
    seed: int = 0
    copies: bool = False
    is_declared: bool = True
    models: tuple[str, ...] = ("log", "state")
    is_sorted_too: bool = True

    @property
    def table(self) -> Table:
        """What the histories are played in."""
        return self.shape.table

    @cached_property
    def _played(self) -> tuple[list[Record], dict[RowKey, Values]]:
        recording = play(self.table, self.histories)
        return recording.records, recording.content

    @property
    def records(self) -> list[Record]:
        """Every line."""
        return self._played[0]

    @property
    def content(self) -> dict[RowKey, Values]:
        """The table in the end, as the database has it."""
        return self._played[1]

    @cached_property
    def feeds(self) -> list[Feed]:
        """The feeds that the lines are delivered to."""
        cdc: dict[str, Any] = {"connector": self.table.connector}
        if self.is_declared:
            cdc["replica_identity"] = self.table.replica_identity
        rounds = delivery.in_rounds(self.records, self.shape.rounds, self.seed, copies=self.copies)
        # Whatever the order of delivery, no event of these histories contradicts the key.
        strict = {**cdc, "on_key_conflict": "fail"}
        feeds = [Feed(self.name, COLUMNS, rounds, key=KEY, cdc=strict, models=self.models)]
        if self.is_sorted_too:
            feeds.append(
                Feed(
                    f"{self.name}_sorted",
                    COLUMNS,
                    delivery.at_once(self.records, self._order),
                    key=KEY,
                    cdc=cdc,
                    models=("log", "state"),
                )
            )
        return feeds

    def _order(self, record: Record) -> tuple[Any, ...]:
        if record.reason is not None:
            return (1,)
        changes, resets = read(self.table, [record.event])
        return (0, changes[0].position if changes else min(resets))

    @cached_property
    def by_history(self) -> dict[int, list[Record]]:
        """Lines of each history."""
        found: dict[int, list[Record]] = {number: [] for number in (0, *(each.number for each in self.histories))}
        for record in self.records:
            found[record.history].append(record)
        return found

    def expected(self, history: int, after_round: int) -> dict[RowKey, StateRow]:
        """The state of a history's rows once the events of these rounds are there."""
        rows = current_state(self.table, self.delivered(history, after_round))
        return {key: row for key, row in rows.items() if key[0] == history}

    def delivered(self, history: int, after_round: int) -> list[Event | str]:
        """Its events that are there, and the truncates and ends of snapshots."""
        records = self.by_history[history] + (self.by_history[0] if history else [])
        return [
            record.event
            for record in records
            if record.reason is None and any(arrival <= after_round for arrival in record.arrivals)
        ]

    def differences(self, project: Project) -> dict[int, list[str]]:
        """What is wrong in the tables, by history.

        The state of every round against the model, that of the last round against the database itself where no event is
        lost, and against the state of the sorted delivery.
        """
        found: dict[int, list[str]] = {}
        last = self.shape.rounds - 1
        for number in range(self.shape.rounds):
            actual = by_history(project.state(self.name, number))
            for history in self.by_history:
                expected = self.expected(history, number)
                rows = actual.get(history, {})
                messages = _differences(self.table, expected, rows, is_complete=number == last and not self.shape.loses)
                if number == last and not self.shape.loses:
                    messages += self._differences_from_content(history, rows, expected)
                found.setdefault(history, []).extend(f"after round {number}: {message}" for message in messages)
        if self.is_sorted_too:
            self._compare_deliveries(found, by_history(project.state(self.name)), project)
        if "hard" in self.models:
            self._compare_hard(found, project)
        return {history: messages for history, messages in found.items() if messages}

    def _differences_from_content(
        self, history: int, rows: Mapping[RowKey, Row], expected: Mapping[RowKey, StateRow]
    ) -> list[str]:
        content = {key: row for key, row in self.content.items() if key[0] == history}
        living = {key: row for key, row in rows.items() if not row["_is_deleted"]}
        messages = [f"{key} lives in the database only" for key in content.keys() - living.keys()]
        messages += [f"{key} does not live in the database" for key in living.keys() - content.keys()]
        for key in content.keys() & living.keys():
            shown = {name: living[key][name] for name in VALUES}
            if expected[key].may_be_unresolved and living[key]["_cdc_unresolved_columns"] == list(VALUES):
                continue
            if living[key]["_cdc_unresolved_columns"] or shown != {name: content[key][name] for name in VALUES}:
                messages.append(f"{key} is {content[key]} in the database, {_shown(living[key])} in the state")
        return messages

    def _compare_deliveries(
        self, found: dict[int, list[str]], rows: Mapping[int, Mapping[RowKey, Row]], project: Project
    ) -> None:
        others = by_history(project.state(f"{self.name}_sorted"))
        for history in rows.keys() | others.keys():
            messages = different(self.table, rows.get(history, {}), others.get(history, {}))
            if messages:
                found.setdefault(history, []).extend(f"sorted in one batch {message}" for message in messages)

    def _compare_hard(self, found: dict[int, list[str]], project: Project) -> None:
        soft, hard = by_history(project.state(self.name)), by_history(project.state(self.name, role="hard"))
        for history, rows in soft.items():
            for key, row in rows.items():
                expected = comparable(self.table, row)
                if row["_is_deleted"]:
                    expected |= dict.fromkeys(OF_IMAGE)
                if (actual := comparable(self.table, hard[history][key])) != expected:
                    found.setdefault(history, []).append(f"{key} with hard deletes is {actual}, not {expected}")

    def differences_of_quarantine(self, project: Project) -> list[str]:
        """Rejected lines that are not what was delivered, for both feeds."""
        messages = []
        for feed in self.feeds:
            log = project.log(feed.name)
            actual = Counter(
                (row["_cdc_raw"], row["_cdc_reject_reason"]) for row in log if row["_cdc_kind"] == "rejected"
            )
            reasons = {_line(record.event): record.reason for record in self.records if record.reason}
            landed = Counter(
                line for files in feed.rounds for content in files.values() for line in content.decode().split("\n")
            )
            expected = Counter({(line, reason): landed[line] for line, reason in reasons.items() if landed[line]})
            messages += [
                f"{feed.name}: {entry} {count} times too often" for entry, count in (actual - expected).items()
            ]
            messages += [f"{feed.name}: {entry} {count} times missing" for entry, count in (expected - actual).items()]
            if len(log) != sum(landed.values()) - landed[""]:
                messages.append(f"{feed.name}: {len(log)} lines in the log")
        return messages


OF_IMAGE = (*VALUES, "_cdc_image_position", "_cdc_value_positions", "_cdc_moved_columns", "_cdc_unresolved_columns")


def made(
    name: str,
    shape: Shape,
    seed: int,
    count: int,
    found: Mapping[str, tuple[Epoch, ...]] = MappingProxyType({}),
    **options: Any,
) -> Case:
    """A case of random histories, and of those that once failed."""
    once_failed = [History(count + number, epochs, label) for number, (label, epochs) in enumerate(found.items(), 1)]
    return Case(name, shape, (*histories(seed, shape, count), *once_failed), seed, **options)


def by_history(rows: Sequence[Row]) -> dict[int, dict[RowKey, Row]]:
    """Rows of a state by history and key."""
    found: dict[int, dict[RowKey, Row]] = {}
    for row in rows:
        found.setdefault(row["history"], {})[row["history"], row["id"]] = row
    return found


def source_position(table: Table, position: str | None) -> Position | None:
    """Without the parts that say how the event was delivered; empty for the text that stands for none."""
    if not position:
        return None if position is None else ()
    return tuple(int(part) for part in position.split(".")[: PARTS[table.connector]])


def comparable(table: Table, row: Row) -> dict[str, Any]:
    """A row of a state without what says how and when its events were delivered."""
    shown = {name: value for name, value in row.items() if name not in OF_DELIVERY}
    for name in ("_cdc_position", "_cdc_image_position"):
        shown[name] = source_position(table, row[name])
    shown["_cdc_value_positions"] = {
        name: source_position(table, position) for name, position in (row["_cdc_value_positions"] or {}).items()
    } or None
    return shown


OF_DELIVERY = ("_cdc_batch", "_cdc_file_path", "_cdc_line", "_cdc_kafka_partition", "_cdc_kafka_offset")


def different(table: Table, rows: Mapping[RowKey, Row], others: Mapping[RowKey, Row]) -> list[str]:
    """Rows of another state of the same events that are not the same."""
    messages = []
    for key in rows.keys() | others.keys():
        one, other = (comparable(table, state[key]) if key in state else {} for state in (rows, others))
        if one and other and one["_is_deleted"] and other["_is_deleted"]:
            for name in {*(one["_cdc_unresolved_columns"] or ()), *(other["_cdc_unresolved_columns"] or ())}:
                _leave_out(name, one, other)
        if one != other:
            messages.append(f"{key} is {other}, not {one}")
    return messages


def _leave_out(name: str, *rows: dict[str, Any]) -> None:
    """A value of a row that is gone, and whose create has not come: it may be the one of the row before (limits.md)."""
    for row in rows:
        row.pop(name, None)
        row["_cdc_unresolved_columns"] = [other for other in row["_cdc_unresolved_columns"] or () if other != name]
        row["_cdc_value_positions"] = {
            other: position for other, position in (row["_cdc_value_positions"] or {}).items() if other != name
        }


def _differences(
    table: Table, expected: Mapping[RowKey, StateRow], rows: Mapping[RowKey, Row], *, is_complete: bool
) -> list[str]:
    messages = [f"{key} is not in the state" for key in expected.keys() - rows.keys()]
    messages += [f"{key} should not be in the state" for key in rows.keys() - expected.keys()]
    for key in sorted(expected.keys() & rows.keys()):
        wanted = _comparable(expected[key])
        actual = {
            "op": rows[key]["_cdc_op"],
            "position": source_position(table, rows[key]["_cdc_position"]),
            "micros": _micros(rows[key]["_cdc_source_ts"]),
            "is_deleted": rows[key]["_is_deleted"],
            "deleted_at": _micros(rows[key]["_deleted_at"]),
            "values": {name: rows[key][name] for name in VALUES},
            "unresolved": set(rows[key]["_cdc_unresolved_columns"] or ()),
        }
        if wanted["is_deleted"]:
            # The create has not come: its value may be the one of the row before (limits.md).
            for name in wanted["unresolved"]:
                actual["values"][name] = None
            actual["unresolved"] |= wanted["unresolved"]
        if table.checks_keys_late and expected[key].is_contested:
            # With only a part of the events, or of a row that is gone, its images before do not decide it.
            left_out = ["is_deleted", "deleted_at", "values", "unresolved"] if not is_complete else []
            if wanted["is_deleted"] or (expected[key].may_be_unresolved and actual["unresolved"] == set(VALUES)):
                left_out += ["values", "unresolved"]
            for name in left_out:
                wanted[name] = actual[name]
        wrong = [f"{name} {actual[name]!r}, not {value!r}" for name, value in wanted.items() if value != actual[name]]
        if wrong:
            messages.append(f"{key}: {', '.join(wrong)}")
    return messages


def _comparable(row: StateRow) -> dict[str, Any]:
    return {
        name: getattr(row, name)
        for name in ("op", "position", "micros", "is_deleted", "deleted_at", "values", "unresolved")
    }


def _micros(shown: str | None) -> int | None:
    if shown is None:
        return None
    seconds, _, fraction = shown.partition(".")
    moment = datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
    return int(moment.timestamp()) * 1_000_000 + int(fraction.ljust(6, "0"))


def _shown(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in (*VALUES, "_cdc_op", "_cdc_position", "_cdc_unresolved_columns")}


def _line(event: Event | str) -> str:
    return event if isinstance(event, str) else text(event)
