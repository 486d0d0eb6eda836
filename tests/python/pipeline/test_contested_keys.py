"""Keys that two rows have at once inside a transaction: swaps and shifts of a deferrable key. A slow suite.

`make test` plays random histories of such tables (properties/test_silver).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .events import NOON_MS, Event, flattened, lines, of_connector, postgresql, rounds_of
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

SWAPPED = {"id": "int", "name": "string"}
COLUMNS = {"id": "int", "name": "string", "tags": "map<string,string>"}


def row(op: str, lsn: int, key: int, name: str, *, commit: int) -> Event:
    return postgresql(
        op,
        lsn,
        {"id": key, "name": name, "tags": {"of": name}},
        commit=commit,
        ts_us=1_714_564_800_000_000 + commit,
    )


def events(base: int) -> list[Event]:
    """The history of the keys from `base` on, in commit order; the keys of another history are a hundred away."""
    here = base * 10

    def one(op: str, lsn: int, key: int, name: str, commit: int) -> Event:
        return row(op, here + lsn, base + key, name, commit=here + commit)

    def move(lsn: int, old: int, new: int, name: str, commit: int) -> list[Event]:
        """Both halves of a key change, with the whole image before."""
        return [one("d", lsn, old, name, commit), one("c", lsn, new, name, commit)]

    snapshot = ((1, "a"), (2, "b"), (3, "c"), (4, "same"), (5, "same"), (6, "f"))
    return [
        *[one("r", 10, key, name, 0) for key, name in snapshot],
        # A swap, and one of rows that are alike.
        *[*move(101, 1, 2, "a", 100), *move(102, 2, 1, "b", 100)],
        *[*move(111, 4, 5, "same", 100), *move(112, 5, 4, "same", 100)],
        # A shift.
        *[*move(201, 1, 2, "b", 200), *move(202, 2, 3, "a", 200), *move(203, 3, 7, "c", 200)],
        # Come and gone in one transaction, which is no swap; nor is gone and back.
        *[one("c", 301, 8, "x", 300), one("d", 302, 8, "x", 300)],
        one("u", 401, 2, "B", 400),
        one("d", 402, 3, "a", 400),
        *[one("d", 403, 6, "f", 400), one("c", 404, 6, "F", 400)],
    ]


LIVING = {2: "B", 4: "same", 5: "same", 6: "F", 7: "c"}
COUNT = len(events(0))


def split(*sizes: int) -> list[int]:
    return [number for number, size in enumerate(sizes) for _ in range(size)]


# In which rounds each event arrives.
ORDERS: dict[str, list[list[int]]] = {
    "at_once": [[0]] * COUNT,
    "by_transaction": [[number] for number in split(6, 8, 8, COUNT - 22)],
    "newest_first": [[3 - number] for number in split(6, 8, 8, COUNT - 22)],
    # Each swap cut between a create and the delete of the row that had the key.
    "cut_in_transactions": [[number] for number in split(8, 4, 4, COUNT - 16)],
    "deletes_first": [[0 if event["op"] == "d" else 1] for event in events(0)],
    "deletes_last": [[1 if event["op"] == "d" else 0] for event in events(0)],
    "snapshot_last": [[3 if event["op"] == "r" else 1] for event in events(0)],
    "interleaved": [[number % 4] for number in range(COUNT)],
    # All in one round, a part of them again, then all once more.
    "again": [[0, 1, 2] if 8 <= number < 20 else [0, 2] for number in range(COUNT)],
}
BASE = {order: 100 * number for number, order in enumerate(ORDERS)}
MARKED, UNDECIDED, CUT, LOST = 4000, 5000, 6000, 7000


def rounds() -> list[dict[str, bytes]]:
    # The delete shows neither of the rows that have had the key; nothing says which of two rows an update is of.
    undecided = [
        [("r", 10, "a", 0), ("c", 101, "x", 100), ("d", 102, "y", 100)],
        [("r", 10, "a", 0), ("c", 101, "x", 100), ("u", 102, "A", 100), ("d", 103, "A", 100)],
        # An update that changes nothing, of the row that goes.
        [("r", 10, "a", 0), ("c", 101, "x", 100), ("u", 102, "a", 100), ("d", 103, "a", 100)],
        # Another row that comes and goes later says nothing of the one before.
        [("r", 10, "a", 0), ("c", 101, "x", 100), ("d", 102, "y", 100), ("c", 201, "z", 200), ("d", 202, "z", 200)],
    ]
    arriving = [
        [
            row(op, lsn, UNDECIDED + number, name, commit=commit)
            for number, history in enumerate(undecided)
            for op, lsn, name, commit in history
        ],
        [],
        [],
        [],
    ]
    # With the whole image there are no placeholders: what looks like one is a value.
    marked = row("u", 10, MARKED, "__debezium_unavailable_value", commit=5)
    arriving[0] += [marked | {"before": {"id": MARKED, "name": "a", "tags": {"of": "a"}}}]
    # A swap cut after an update in the same transaction.
    for number, (op, lsn, name) in enumerate([("r", 10, "a"), ("c", 101, "b"), ("u", 102, "B"), ("d", 103, "a")]):
        arriving[min(number, 2) if op != "u" else 2].append(row(op, lsn, CUT, name, commit=0 if op == "r" else 100))
    # The delete of the row that had the key is missing, at once and in batches.
    for number, rounds_of_events in enumerate([(0, 0, 0), (0, 1, 2), (0, 0, 1)]):
        for (op, lsn, name), arrival in zip(
            [("r", 10, "a"), ("c", 101, "b"), ("d", 301, "b")], rounds_of_events, strict=True
        ):
            commit = 0 if op == "r" else lsn - 1
            arriving[arrival].append(row(op, lsn, LOST + number, name, commit=commit))
    for order, arrivals in ORDERS.items():
        for event, numbers in zip(events(BASE[order]), arrivals, strict=True):
            for number in numbers:
                # Newest first inside a file, too.
                arriving[number].insert(0, event)
    return rounds_of(arriving)


def oracle(op: str, place: int, key: int, name: str) -> Event:
    """Its `place` orders it; what is above 100 is of one transaction."""
    return of_connector(
        "oracle",
        op,
        {"id": key, "name": name},
        scn=str(place),
        commit_scn=str(place if op == "r" else 1000 + place // 100),
        txId=f"0a0{place // 100}",
    )


def sqlserver(op: str, place: int, key: int, name: str) -> Event:
    """Without an id of the transaction; the events of a change are numbered."""
    return of_connector(
        "sqlserver",
        op,
        {"id": key, "name": name},
        txId=None,
        commit_lsn=f"00000027:{1000 + place // 100:08x}:0001",
        change_lsn=f"00000027:{place:08x}:0001",
        event_serial_no=1 if op == "d" else 2,
    )


def by_offset(op: str, place: int, key: int, name: str) -> Event:
    """Without a position; the id of its transaction ends with the lsn of the event itself."""
    return flattened(op, None, {"id": key, "name": name}, __transaction_id=f"{place // 100}:{place}")


def by_lsn(op: str, place: int, key: int, name: str) -> Event:
    """Without the id of its transaction, whose events have one time."""
    return flattened(op, place, {"id": key, "name": name}, __source_ts_ms=NOON_MS + place // 100)


def swaps(event: Callable[[str, int, int, str], Event]) -> list[dict[str, bytes]]:
    """A swap in one file, one cut between a create and the delete of the row that had the key, and what is no swap."""
    snapshot = [event("r", 10, key, name) for key, name in enumerate("abcdefg", 1)]
    whole = [event("d", 101, 1, "a"), event("c", 101, 2, "a"), event("d", 102, 2, "b"), event("c", 102, 1, "b")]
    cut = [event("d", 201, 3, "c"), event("c", 201, 4, "c"), event("d", 202, 4, "d"), event("c", 202, 3, "d")]
    # Gone with the transaction after the one that has changed it, and gone where it had moved to; 7 was another row
    # before, whose delete is missing.
    gone = [
        *[event("u", 301, 5, "E"), event("c", 302, 7, "G")],
        *[event("d", 401, 5, "E"), event("d", 402, 2, "a"), event("d", 403, 7, "G")],
    ]
    arriving = [[*snapshot, *whole], cut[:2], cut[2:], gone]
    return [{f"t+0+{100 * number}.json": lines(*records)} for number, records in enumerate(arriving)]


FEEDS = [
    Feed(
        "swap",
        COLUMNS,
        rounds(),
        cdc={"replica_identity": "full"},
        models=("log", "state", "living"),
    ),
    Feed(
        "swap_of_sqlserver",
        SWAPPED,
        swaps(sqlserver),
        cdc={"connector": "sqlserver", "replica_identity": "full"},
        models=("log", "state", "history"),
    ),
    Feed(
        "swap_of_oracle",
        SWAPPED,
        swaps(oracle),
        cdc={"connector": "oracle", "replica_identity": "full"},
        models=("log", "state", "history"),
    ),
    Feed(
        "swap_flattened",
        SWAPPED,
        swaps(by_offset),
        cdc={"shape": "flattened", "replica_identity": "full", "order_by": "offset"},
        models=("log", "state", "history"),
    ),
    Feed(
        "swap_by_lsn",
        SWAPPED,
        swaps(by_lsn),
        cdc={"shape": "flattened", "replica_identity": "full"},
        models=("log", "state", "history"),
    ),
]


def of_order(rows: list[Row], order: str) -> dict[int, Row]:
    return {row["id"] - BASE[order]: row for row in rows if 0 <= row["id"] - BASE[order] < 100}


@pytest.mark.parametrize("order", ORDERS)
def test_rows_under_contested_keys_live_in_any_order_of_arrival(project: Project, order: str) -> None:
    living = {key: (row["name"], row["tags"]) for key, row in of_order(project.living("swap"), order).items()}
    assert living == {key: (name, {"of": name}) for key, name in LIVING.items()}


def test_state_is_the_same_in_every_order_of_arrival(project: Project) -> None:
    seen = set()
    for order, base in BASE.items():
        rows = of_order(project.state("swap"), order)
        seen.add(
            tuple(
                (
                    key,
                    row["name"],
                    row["_is_deleted"],
                    row["_cdc_op"],
                    int(row["_cdc_position"].split(".")[1]) - base * 10,
                )
                for key, row in sorted(rows.items())
            )
        )
    assert len(seen) == 1


def test_row_is_not_guessed_where_the_images_do_not_decide_it(project: Project) -> None:
    rows = {row["id"]: row for row in project.living("swap")}
    assert (rows[UNDECIDED]["name"], rows[UNDECIDED]["tags"]) == (None, None)
    assert rows[UNDECIDED]["_cdc_unresolved_columns"] == ["name", "tags"]
    unresolved = {key for key, row in rows.items() if row["_cdc_unresolved_columns"]}
    assert unresolved == {UNDECIDED, UNDECIDED + 1, UNDECIDED + 2, UNDECIDED + 3}


def test_update_between_the_halves_of_a_swap_is_of_the_row_that_stays(project: Project) -> None:
    assert [row["name"] for row in project.living("swap") if row["id"] == CUT] == ["B"]


def test_full_replica_identity_has_no_placeholder(project: Project) -> None:
    assert [row["name"] for row in project.living("swap") if row["id"] == MARKED] == ["__debezium_unavailable_value"]


def test_row_whose_delete_is_missing_does_not_outlive_its_transaction(project: Project) -> None:
    rows = {row["id"] - LOST: row for row in project.state("swap") if row["id"] >= LOST}
    assert {key: (row["_is_deleted"], row["name"]) for key, row in rows.items()} == dict.fromkeys(range(3), (True, "b"))


@pytest.mark.parametrize("feed", ["swap_of_oracle", "swap_of_sqlserver", "swap_flattened", "swap_by_lsn"])
def test_keys_are_swapped_whatever_orders_the_events(project: Project, feed: str) -> None:
    found = [{row["id"]: row["name"] for row in project.current_rows(feed, number)} for number in range(4)]
    whole = {1: "b", 2: "a", 5: "e", 6: "f", 7: "g"}
    assert found[0] == whole | {3: "c", 4: "d"}
    assert found[2] == whole | {3: "d", 4: "c"}
    assert found[3] == {1: "b", 3: "d", 4: "c", 6: "f"}
    assert {version["id"]: version["name"] for version in project.current_versions(feed)} == found[3]
