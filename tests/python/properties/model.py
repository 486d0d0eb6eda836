"""What the tables have to hold after a set of events: the semantics in plain Python, from the events' JSON alone.

The order in which the events are given, and how often each is, is of no matter. Shares no code with the macros.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.events import Event

from .database import COLUMNS, KEY, MARK, RowKey, Table, Values

Position = tuple[int, ...]
VALUES = tuple(name for name in COLUMNS if name not in KEY)
MARKS: dict[str, Any] = {"name": MARK, "body": MARK, "tags": [MARK]}


@dataclass(frozen=True)
class Change:
    """One row change.

    Attributes:
        op: c, u, d or r.
        key: of its row.
        position: where it stands; the delete and the create of a key change share it.
        values: of the image after, of a delete of the image before; what the source has not sent is missing.
        before: the whole image before an update, where the event has it.
        micros: when the source committed, microseconds since 1970.
    """

    op: str
    key: RowKey
    position: Position
    values: Values
    before: Values | None
    micros: int


@dataclass
class StateRow:
    """What the state has of a key.

    Attributes:
        op: of the newest event.
        position: of the newest event.
        micros: of the newest event.
        is_deleted: whether the row is gone.
        deleted_at: since when, microseconds since 1970.
        values: those that are known, the last ones of a row that is gone.
        unresolved: columns whose value is not known.
        is_contested: two rows had the key at once, so that values and liveness hang on the images before.
        may_be_unresolved: an update was of one of two rows, and only its image before says of which.
    """

    op: str = ""
    position: Position = ()
    micros: int = 0
    is_deleted: bool = False
    deleted_at: int | None = None
    values: Values = field(default_factory=dict)
    unresolved: set[str] = field(default_factory=set)
    is_contested: bool = False
    may_be_unresolved: bool = False


@dataclass
class _Key:
    """A key while its events are folded; `rows` are those that have it, the oldest first.

    `survivor` is the row that the newest delete has left, also when a truncate has taken it since.
    """

    newest: Change
    image: Values | None = None
    has_ended: bool = True
    is_living: bool = False
    rows: list[Values] = field(default_factory=list)
    survivor: Values | None = None
    was_reset: bool = False
    is_contested: bool = False
    may_be_unresolved: bool = False


@dataclass(frozen=True)
class Version:
    """One version of a row, from its position to, but not including, that of the next one or of its end.

    Attributes:
        op: of the event that it begins with.
        begins: position.
        begins_at: when the source committed that, microseconds since 1970.
        ends: position of the event, truncate or snapshot that ends it; None for the version that lives.
        ends_at: when the source committed that.
        values: those that are known.
        unresolved: columns whose value is not known.
    """

    op: str
    begins: Position
    begins_at: int
    ends: Position | None
    ends_at: int | None
    values: Values
    unresolved: frozenset[str]


def current_state(table: Table, events: Iterable[Event | str]) -> dict[RowKey, StateRow]:
    """The state with soft deletes after these events; rejected lines must not be among them."""
    changes, resets = read(table, events)
    keys: dict[RowKey, _Key] = {}
    for _ in _fold_all(keys, changes, resets):
        pass
    return {name: _state_row(table, key, resets) for name, key in keys.items()}


def history(table: Table, events: Iterable[Event | str]) -> dict[RowKey, list[Version]]:
    """Every version of every key, the oldest first; also those that are like the one before."""
    changes, resets = read(table, events)
    keys: dict[RowKey, _Key] = {}
    versions: dict[RowKey, list[Version]] = {}
    for position, micros, touched in _fold_all(keys, changes, resets):
        for name, change in touched.items():
            found = versions.setdefault(name, [])
            image = _living(table, keys[name])
            is_left = change is not None and change.op == "d" and image is not None
            if found and found[-1].ends is None and not is_left:
                found[-1] = replace(found[-1], ends=position, ends_at=micros)
            if image is not None and change is not None and change.op != "d":
                values, unresolved = _known(table, image)
                found.append(Version(change.op, position, micros, None, None, values, frozenset(unresolved)))
    return {name: found for name, found in versions.items() if found}


def _fold_all(
    keys: dict[RowKey, _Key], changes: Iterable[Change], resets: Mapping[Position, int]
) -> Iterator[tuple[Position, int, dict[RowKey, Change | None]]]:
    """Takes changes and resets into their keys, position by position.

    Yields:
        the position, its time, and the keys that something happened to, with the change that did it.
    """
    by_position: dict[Position, list[Change]] = {}
    for change in changes:
        by_position.setdefault(change.position, []).append(change)
    for position in sorted(by_position.keys() | resets.keys()):
        if position in resets:
            touched: dict[RowKey, Change | None] = {
                name: None for name, key in keys.items() if key.is_living or key.rows
            }
            for key in keys.values():
                key.rows, key.is_living, key.was_reset = [], False, True
            yield position, resets[position], touched
        # Of a key change the delete first: it shows where the values of the create are.
        together = by_position.get(position, [])
        deletes = [change for change in together if change.op == "d"]
        left = [_fold(keys, change) for change in deletes]
        for change in together:
            if change.op != "d":
                _fold(keys, change, left[0] if len(left) == 1 else None)
        if together:
            yield position, together[0].micros, {change.key: change for change in together}


def read(table: Table, events: Iterable[Event | str]) -> tuple[list[Change], dict[Position, int]]:
    """Changes, each once, and the positions of truncates and complete snapshots, with their time."""
    changes: dict[tuple[Any, ...], Change] = {}
    resets: dict[Position, int] = {}
    for event in events:
        assert isinstance(event, dict)
        position, source = _position(table, event), event["source"]
        if event["op"] == "t":
            resets[position] = source["ts_us"]
            continue
        if source["snapshot"] in ("last", "last_in_data_collection"):
            # Below its own rows.
            resets[(*position[:-1], -1)] = source["ts_us"]
        image = event["before"] if event["op"] == "d" else event["after"]
        key = tuple(image[name] for name in KEY)
        marks = {} if table.has_whole_images or event["op"] not in ("c", "u") else MARKS
        values = {name: image[name] for name in VALUES if name not in marks or image[name] != marks[name]}
        before = event["before"] if event["op"] == "u" else None
        changes[(event["op"], key, position)] = Change(
            event["op"], key, position, values, before and {name: before[name] for name in VALUES}, source["ts_us"]
        )
    return list(changes.values()), resets


def _position(table: Table, event: Event) -> Position:
    source = event["source"]
    if table.connector == "mysql":
        return (int(source["file"].split(".")[1]), source["pos"], source["row"], int(event["op"] != "r"))
    before, own = json.loads(source["sequence"])
    if event["op"] == "r":
        return (int(before or own), 0, 0)
    return (int(before), int(own), 1)


def _fold(keys: dict[RowKey, _Key], change: Change, left: Values | None = None) -> Values | None:
    """Takes a change into its key; returns the values of a row that it ends."""
    key = keys.setdefault(change.key, _Key(change))
    key.newest = change
    if key.was_reset:
        key.was_reset, key.is_contested, key.may_be_unresolved = False, False, False
    if change.op == "d":
        ended = None if key.has_ended else key.image
        key.has_ended, key.is_living = True, False
        if change.values in key.rows:
            key.rows.remove(change.values)
        else:
            key.rows = key.rows[1:]
        key.survivor = key.rows[-1] if key.is_contested and key.rows else None
        return ended
    if change.op == "c" and key.rows:
        key.is_contested = True
    if change.op == "u" and len(key.rows) > 1:
        key.may_be_unresolved = True
    if change.op == "u" and change.before in key.rows:
        key.rows[key.rows.index(change.before)] = change.values
    elif change.op == "u":
        key.rows = [*key.rows[:-1], change.values]
    else:
        key.rows = [*(key.rows if change.op == "c" else []), change.values]
    # What the event lacks was the row's before: an update's under its key, a create's under the key that it comes from.
    held = left if change.op == "c" else None if key.has_ended else key.image
    key.image = {name: value for name, value in (held or {}).items() if name in MARKS} | change.values
    key.has_ended, key.is_living = False, True
    return None


def _state_row(table: Table, key: _Key, resets: dict[Position, int]) -> StateRow:
    newest = key.newest
    row = StateRow(newest.op, newest.position, newest.micros)
    row.is_contested, row.may_be_unresolved = key.is_contested, key.may_be_unresolved
    image = key.image
    if table.checks_keys_late and newest.op == "d" and key.survivor is not None:
        image = key.survivor
    elif newest.op == "d":
        row.is_deleted, row.deleted_at = True, newest.micros
    after = [position for position in resets if position > newest.position]
    if after and not row.is_deleted:
        row.is_deleted, row.deleted_at = True, resets[min(after)]
    if image is not None:
        row.values, row.unresolved = _known(table, image)
    else:
        row.values = dict.fromkeys(VALUES)
    return row


def _living(table: Table, key: _Key) -> Values | None:
    """The row that has a key now, the last one that took it of several."""
    if table.checks_keys_late:
        return key.rows[-1] if key.rows else None
    return key.image if key.is_living else None


def _known(table: Table, image: Values) -> tuple[Values, set[str]]:
    """Values, NULL where they are not known, and the names of those."""
    unresolved = {name for name in MARKS if name not in image and not table.has_whole_images}
    return {name: image.get(name) for name in VALUES}, unresolved
