"""Histories: one row per version, from the same events in many orders of arrival."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import pytest

from .events import NOON_MS, Event, postgresql, rounds_of
from .project import Feed, Project, Row

UNAVAILABLE = "__debezium_unavailable_value"
COLUMNS = {"way": "string", "id": "int", "name": "string", "note": "string", "tags": "map<string,string>"}
SEEDS = range(12)
# The names of ORDERS.
NAMES = ("at_once", "in_order", "newest_first", "interleaved", "deletes_last", "creates_last", "snapshot_last", "again")
WAYS = ["", "end", *NAMES, *(f"random {seed}" for seed in SEEDS)]


def row(op: str, lsn: int, way: str, key: int, name: str, note: str = "n", snapshot: str = "false") -> Event:
    """An event of a way; the ways share the truncate and the snapshot, and no position of their own."""
    image = {"way": way, "id": key, "name": name, "note": note, "tags": {"of": name}}
    ts_us = (NOON_MS + (23 if lsn == 24 else lsn)) * 1000
    at: dict[str, Any] = {} if op == "r" else {"commit": lsn - 1, "ts_us": ts_us}
    return postgresql(op, lsn if op == "r" else 1000 * lsn + WAYS.index(way), image, snapshot=snapshot, **at)


def events(way: str) -> list[Event]:
    """The life of eleven keys around a truncate (50) and a complete snapshot (70), in commit order."""

    def one(op: str, lsn: int, key: int, name: str, note: str = "n", snapshot: str = "false") -> Event:
        return row(op, lsn, way, key, name, note, snapshot)

    return [
        one("c", 10, 1, "a"),
        one("c", 11, 2, "a"),
        one("c", 12, 3, "a"),
        one("c", 13, 4, "a"),
        one("c", 14, 5, "a", "long"),
        one("c", 16, 7, "a", "long"),
        one("u", 20, 1, "b"),
        one("d", 21, 2, ""),
        one("u", 22, 3, "a"),
        # Two events of one time.
        one("u", 23, 4, "b"),
        one("u", 24, 4, "c"),
        one("u", 25, 5, "b", UNAVAILABLE),
        one("u", 26, 6, "a", UNAVAILABLE),
        # A row that moves to another key.
        one("d", 27, 7, ""),
        one("c", 27, 8, "a", UNAVAILABLE),
        one("d", 28, 9, ""),
        one("u", 30, 1, "c"),
        one("c", 31, 2, "b"),
        one("u", 32, 3, "b"),
        one("u", 34, 5, "b", "longer"),
        one("u", 36, 8, "b", UNAVAILABLE),
        one("u", 37, 6, "a", "long"),
        one("c", 60, 1, "d"),
        one("c", 65, 11, "a"),
        one("r", 70, 1, "d", snapshot="true"),
        one("r", 70, 10, "a", snapshot="true"),
        one("u", 80, 10, "b"),
    ]


# (id, name, note, from, until, what ended it); the truncate at 50 and the snapshot at 70 end what lives then.
VERSIONS = [
    (1, "a", "n", 10, 20, "u"),
    (1, "b", "n", 20, 30, "u"),
    (1, "c", "n", 30, 50, "t"),
    (1, "d", "n", 60, None, None),
    (2, "a", "n", 11, 21, "d"),
    (2, "b", "n", 31, 50, "t"),
    (3, "a", "n", 12, 32, "u"),
    (3, "b", "n", 32, 50, "t"),
    (4, "a", "n", 13, 23, "u"),
    (4, "b", "n", 23, 24, "u"),
    (4, "c", "n", 24, 50, "t"),
    (5, "a", "long", 14, 25, "u"),
    (5, "b", "long", 25, 34, "u"),
    (5, "b", "longer", 34, 50, "t"),
    (6, "a", None, 26, 37, "u"),
    (6, "a", "long", 37, 50, "t"),
    (7, "a", "long", 16, 27, "d"),
    (8, "a", "long", 27, 36, "u"),
    (8, "b", "long", 36, 50, "t"),
    (10, "a", "n", 70, 80, "u"),
    (10, "b", "n", 80, None, None),
    (11, "a", "n", 65, 70, "r"),
]
COUNT = len(events(""))
# In which of three rounds each event arrives; of the fast feed's two, the second has what arrives in the third, too.
# The truncate and the snapshot's last row arrive in the second one.
ORDERS: dict[str, list[list[int]]] = {
    "at_once": [[0]] * COUNT,
    "in_order": [[min(number // 9, 2)] for number in range(COUNT)],
    "newest_first": [[2 - min(number // 9, 2)] for number in range(COUNT)],
    "interleaved": [[number % 3] for number in range(COUNT)],
    "deletes_last": [[2 if event["op"] == "d" else 0] for event in events("")],
    "creates_last": [[2 if event["op"] in "cr" else 1] for event in events("")],
    # Its end is there before its rows: what they will show to live is ended in between.
    "snapshot_last": [[2 if event["op"] == "r" else 0] for event in events("")],
    "again": [[0, 1, 2] if number % 2 else [0, 2] for number in range(COUNT)],
}


def random_events(seed: int) -> list[tuple[int, str, int, str, str]]:
    """(lsn, op, id, name, note) of four keys around the same truncate and snapshot, whatever is living then."""
    chance = random.Random(seed)
    lsns = sorted(chance.sample([lsn for lsn in range(1, 100) if lsn not in (50, 70)], 24))
    made = [
        (lsn, chance.choice("cuuud"), chance.randrange(4), chance.choice("ab"), chance.choice(["m", "n", UNAVAILABLE]))
        for lsn in lsns
    ]
    return made + [
        (70, "r", key, chance.choice("ab"), chance.choice("mn")) for key in range(4) if chance.random() < 0.5
    ]


def model_versions(made: list[tuple[int, str, int, str, str]], key: int) -> list[tuple[Any, ...]]:
    """The versions of one key, by going through its events in order."""
    ordered = sorted((lsn, op != "r", op, name, note) for lsn, op, of, name, note in made if of == key)
    in_snapshot = any(op == "r" for _, _, op, _, _ in ordered)
    found: list[tuple[Any, ...]] = []
    living: tuple[Any, ...] | None = None
    note_of_row: str | None = None

    def end(lsn: int | None, op: str | None) -> None:
        if living:
            found.append((key, *living, lsn, op))

    for lsn, _, op, name, note in sorted([*ordered, (50, False, "t", "", ""), (70, False, "S", "", "")]):
        if op in "td" or (op == "S" and not in_snapshot):
            end(lsn, "r" if op == "S" else op)
            living = None
            note_of_row = None if op == "d" else note_of_row
        elif op != "S":
            if note != UNAVAILABLE or op == "c":
                note_of_row = None if note == UNAVAILABLE else note
            if not living or living[:2] != (name, note_of_row):
                end(lsn, op)
                living = (name, note_of_row, lsn)
    end(None, None)
    return found


def rounds(count: int) -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], [postgresql("t", 50)], []]
    for seed in SEEDS:
        chance = random.Random(f"arrival {seed}")
        for lsn, op, key, name, note in random_events(seed):
            event = row(op, lsn, f"random {seed}", key, name, note, "true" if op == "r" else "false")
            for number in chance.choices(range(3), k=chance.choice([1, 1, 2])):
                arriving[number].insert(chance.randint(0, len(arriving[number])), event)
    for order, arrivals in ORDERS.items():
        for event, numbers in zip(events(order), arrivals, strict=True):
            for number in numbers:
                # Newest first inside a file, too.
                arriving[number].insert(0, event)
    arriving[1].append(row("r", 70, "end", 0, "z", snapshot="last_in_data_collection"))
    return rounds_of([*arriving[: count - 1], chain(*arriving[count - 1 :])])


FEEDS = [
    Feed("history", COLUMNS, rounds(2), key=("way", "id"), models=("log", "history")),
    Feed(
        "history_of_three",
        COLUMNS,
        rounds(3),
        key=("way", "id"),
        models=("log", "history"),
        # A version that ends moves to another partition, and back where a late row of a snapshot shows that it lived.
        partition_by="_is_current",
        slow=True,
    ),
]


@pytest.fixture(params=[FEEDS[0].name, pytest.param(FEEDS[1].name, marks=pytest.mark.slow)])
def feed(request: pytest.FixtureRequest) -> str:
    """The feed that a test looks at."""
    name: str = request.param
    return name


def source_position(position: str | None) -> int | None:
    """The lsn of an event; of a snapshot, which has none, that of its start."""
    if position is None:
        return None
    before, lsn = map(int, position.split(".")[:2])
    return lsn or before


def place(position: str | None) -> int | None:
    """The lsn that all ways of arrival share."""
    lsn = source_position(position)
    return lsn and (lsn // 1000 or lsn)


def version(found: Row) -> tuple[Any, ...]:
    return (
        found["id"],
        found["name"],
        found["note"],
        place(found["_cdc_position"]),
        place(found["_cdc_ended_position"]),
        found["_cdc_ended_op"],
    )


def of_order(rows: list[Row], order: str) -> list[Row]:
    return [found for found in rows if found["way"] == order]


def time(lsn: int | None) -> str | int | None:
    """What the source says of the time of an event."""
    return lsn and f"2024-05-01 12:00:00.{23 if lsn == 24 else lsn:03d}".rstrip("0")


@pytest.mark.parametrize("order", ORDERS)
def test_versions_in_any_order_of_arrival(project: Project, feed: str, order: str) -> None:
    found = of_order(project.history(feed), order)
    assert sorted(map(version, found), key=lambda v: (v[0], v[3])) == VERSIONS


@pytest.mark.parametrize("order", ORDERS)
def test_intervals_are_of_the_times_of_the_same_events(project: Project, feed: str, order: str) -> None:
    for found in of_order(project.history(feed), order):
        *_, begun, ended, _op = version(found)
        assert (found["_valid_from"], found["_valid_to"]) == (time(begun), time(ended)), found
        assert found["_is_current"] == (ended is None)
        assert found["tags"] == {"of": found["name"]}


def test_values_that_no_event_has_brought_are_named(project: Project, feed: str) -> None:
    named = {
        (found["id"], place(found["_cdc_position"])): found["_cdc_unresolved_columns"]
        for found in project.history(feed)
        if found["_cdc_unresolved_columns"] and found["way"] in ORDERS
    }
    assert named == {(6, 26): ["note"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_versions_of_random_events_are_those_of_a_model(project: Project, feed: str, seed: int) -> None:
    found = [version(found) for found in of_order(project.history(feed), f"random {seed}")]
    expected = [one for key in range(4) for one in model_versions(random_events(seed), key)]
    assert sorted(found, key=lambda v: (v[0], v[3])) == expected


def test_unknown_values_of_random_events_are_named(project: Project, feed: str) -> None:
    for found in project.history(feed):
        assert (found["_cdc_unresolved_columns"] == ["note"]) == (found["note"] is None), found


def test_collapsed_version_shows_its_last_event(project: Project, feed: str) -> None:
    for order in ORDERS:
        (found,) = [v for v in of_order(project.history(feed), order) if version(v)[:4] == (3, "a", "n", 12)]
        assert place(found["_cdc_image_position"]) == 22


@pytest.mark.slow
def test_version_that_a_late_row_of_a_snapshot_shows_to_live_is_current_again(project: Project) -> None:
    def is_current(after_round: int) -> bool:
        rows = of_order(project.history(FEEDS[1].name, after_round), "snapshot_last")
        (found,) = [found for found in rows if version(found)[:4] == (1, "d", "n", 60)]
        return bool(found["_is_current"])

    assert (is_current(1), is_current(2)) == (False, True)


def test_rows_are_those_of_the_events_that_they_begin_with(project: Project, feed: str) -> None:
    events_of_log = {found["_cdc_position"]: found for found in project.log(feed)}
    for found in project.history(feed):
        event = events_of_log[found["_cdc_position"]]
        for name in ("way", "id", "_cdc_op", "_cdc_file_path", "_cdc_line"):
            assert found[name] == event[name]
        assert found["_valid_from"] == event["_cdc_source_ts"]
