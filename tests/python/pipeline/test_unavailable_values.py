"""Values that the source has not sent: held from earlier events, found under an old key, or said to be unknown."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from .events import Event, encoded, flattened, lines, mysql, of_connector, postgresql, rounds_of
from .project import Feed, Project, Row

MARK = "__debezium_unavailable_value"
# As UnchangedToastedPlaceholder writes it, by type in PostgreSQL: (Spark type, placeholder, a value, it decoded).
ENCODINGS: dict[str, tuple[str, Any, Any, Any]] = {
    "text": ("string", MARK, "long", "long"),
    "bytea": ("binary", encoded(MARK.encode()), encoded(b"\x00\xff"), b"\x00\xff"),
    "text_array": ("array<string>", [MARK], ["a", None], ["a", None]),
    "bytea_array": ("array<binary>", [encoded(MARK.encode())], [encoded(b"\x01")], [b"\x01"]),
    "int_array": ("array<int>", list(MARK.encode()), [1, -2], [1, -2]),
    "bigint_array": ("array<bigint>", list(MARK.encode()), [1, 2**62], [1, 2**62]),
    "date_array": ("array<date>", list(MARK.encode()), [0], ["1970-01-01"]),
    "uuid_array": (
        "array<string>",
        ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
        ["00000000-0000-0000-0000-000000000000"],
        ["00000000-0000-0000-0000-000000000000"],
    ),
    "hstore": ("map<string,string>", {MARK: MARK}, {"a": "1"}, {"a": "1"}),
    "hstore_text": ("string", json.dumps({MARK: MARK}, separators=(",", ":")), '{"a":"1"}', '{"a":"1"}'),
    "jsonb": ("string", MARK, '{"k": 1}', '{"k": 1}'),
    "numeric": ("decimal(38,2)", MARK, None, None),
}
COLUMNS = {"id": "int", "body": "string", "size": "int"}


def row(op: str, lsn: int, key: int, body: str | None, *, size: int | None = None, commit: int | None = None) -> Event:
    return postgresql(op, lsn, {"id": key, "body": body, "size": lsn if size is None else size}, commit=commit)


def move(lsn: int, old: int, new: int, body: str = MARK) -> list[Event]:
    """A key change of a table with REPLICA IDENTITY DEFAULT: both halves at one position."""
    return [row("d", lsn, old, None), row("c", lsn, new, body)]


def typed(op: str, lsn: int, which: int) -> Event:
    return postgresql(op, lsn, {"id": 1} | {name: encoding[which] for name, encoding in ENCODINGS.items()})


# Three events of a key in commit order, and the (body, size, unresolved) of the state after them.
HISTORIES: dict[str, tuple[list[tuple[str, int, str | None]], tuple[str | None, int, list[str] | None]]] = {
    "held over two updates": ([("c", 10, "a"), ("u", 20, MARK), ("u", 30, MARK)], ("a", 30, None)),
    "sent again": ([("c", 10, "a"), ("u", 20, "b"), ("u", 30, MARK)], ("b", 30, None)),
    "set to NULL": ([("c", 10, "a"), ("u", 20, None), ("u", 30, MARK)], (None, 30, None)),
    "never seen": ([("u", 10, MARK), ("u", 20, MARK), ("u", 30, MARK)], (None, 30, ["body"])),
    "sent at last": ([("u", 10, MARK), ("u", 20, MARK), ("u", 30, "b")], ("b", 30, None)),
    "not of the row before the delete": ([("c", 10, "a"), ("d", 20, None), ("u", 30, MARK)], (None, 30, ["body"])),
    "kept by a soft delete": ([("c", 10, "a"), ("u", 20, MARK), ("d", 30, None)], ("a", 20, None)),
    "created again": ([("c", 10, "a"), ("d", 20, None), ("c", 30, "b")], ("b", 30, None)),
    "held from a snapshot": ([("r", 10, "a"), ("u", 20, MARK), ("u", 30, MARK)], ("a", 30, None)),
    "looks like it in a snapshot": ([("r", 10, MARK), ("u", 20, MARK), ("u", 30, MARK)], (MARK, 30, None)),
}
ARRIVALS = [*permutations(range(3)), (0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 0)]
# Where the keys of a row begin that moves from one to another.
MOVED = 5000


def key_of(history: str, arrival: tuple[int, ...]) -> int:
    return 100 * list(HISTORIES).index(history) + ARRIVALS.index(arrival)


def rounds() -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], [], []]
    for history, (events, _) in HISTORIES.items():
        for arrival in ARRIVALS:
            for (op, lsn, body), number in zip(events, arrival, strict=True):
                arriving[number].append(row(op, lsn, key_of(history, arrival), body))
    arriving[0] += moves(MOVED) + MOVED_UNSEEN + MOVED_BEFORE_ITS_PAST_IS_KNOWN
    arriving[1].append(LATE_DELETE)
    return rounds_of(arriving)


def moves(base: int) -> list[Event]:
    """1 moves to 2, 2 to 3 and 3 to 4, 1 and 3 are taken by other rows; all from `base` on."""
    here = base * 10
    return [
        row("c", here + 10, base + 1, "a"),
        row("u", here + 20, base + 1, MARK),
        *move(here + 30, base + 1, base + 2),
        row("u", here + 40, base + 2, MARK),
        *move(here + 50, base + 2, base + 3),
        row("c", here + 60, base + 1, "z"),
        *move(here + 70, base + 3, base + 4),
        row("c", here + 80, base + 3, "y"),
    ]


# The old key is taken by another row before it moves, whose create is not there.
MOVED_UNSEEN = [
    row("c", 52010, MOVED + 201, "a"),
    row("d", 52020, MOVED + 201, None),
    *move(52030, MOVED + 201, MOVED + 202),
]
# The same, and the delete that tells comes after the move.
MOVED_BEFORE_ITS_PAST_IS_KNOWN = [row("c", 53010, MOVED + 301, "a"), *move(53030, MOVED + 301, MOVED + 302)]
LATE_DELETE = row("d", 53020, MOVED + 301, None)


REFERENCE = "__debezium:s3:ref:v1:bucket|key"


def of_sqlserver(op: str, place: int, key: int, body: str, before: str | None = None) -> Event:
    made = of_connector(
        "sqlserver",
        op,
        {"id": key, "body": body, "size": place},
        commit_lsn=f"00000027:{place:08x}:0002",
        change_lsn=f"00000027:{place:08x}:0001",
        event_serial_no=2,
    )
    return made | ({"before": {"id": key, "body": before, "size": 0}} if before else {})


def of_mysql(op: str, pos: int, key: int, body: str) -> Event:
    return mysql(op, "bin.000001", pos, {"id": key, "body": body, "size": pos})


# A value is sent, then not, in a later file, then again, and another one is elsewhere; what is not known is named.
SENT_AT_TIMES = (
    [(10, "c", 1, "a"), (11, "c", 2, "a"), (12, "c", 3, REFERENCE), (13, "c", 4, "a"), (14, "c", 5, "a")],
    [(20, "u", 1, MARK), (21, "u", 2, REFERENCE), (22, "u", 3, MARK), (23, "u", 6, MARK), (24, "u", 4, MARK)],
    [(30, "u", 2, MARK), (31, "u", 3, "b"), (32, "d", 4, MARK), (33, "u", 5, MARK)],
)
HELD = {1: ("a", None), 2: (None, ["body"]), 3: ("b", None), 4: ("a", None), 5: ("a", None), 6: (None, ["body"])}


FEEDS = [
    Feed(
        "sqlserver_full",
        COLUMNS,
        rounds_of(
            [
                [of_sqlserver(op, place, key, body, MARK if op == "u" else None) for place, op, key, body in events]
                for events in SENT_AT_TIMES
            ]
        ),
        cdc={"connector": "sqlserver", "replica_identity": "full"},
        models=("log", "state", "living", "history"),
        slow=True,
    ),
    Feed(
        "mysql_noblob",
        COLUMNS,
        rounds_of([[of_mysql(op, place, key, body) for place, op, key, body in events] for events in SENT_AT_TIMES]),
        cdc={"connector": "mysql"},
        models=("log", "state", "living"),
        slow=True,
    ),
    Feed(
        "references",
        {"id": "int", "body": "string", "photo": "binary"},
        [
            {
                "t+0+0.json": lines(
                    postgresql("r", 10, {"id": 1, "body": REFERENCE, "photo": encoded(REFERENCE.encode())}),
                    postgresql("c", 11, {"id": 2, "body": "a", "photo": encoded(b"a")}),
                    postgresql("u", 12, {"id": 2, "body": "b", "photo": encoded(REFERENCE.encode())}),
                )
            }
        ],
        cdc={"replica_identity": "full"},
        models=("log", "state", "living"),
        slow=True,
    ),
    Feed(
        "unavailable_without_key",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    of_sqlserver("c", 10, 1, "a"),
                    of_sqlserver("c", 11, 2, REFERENCE),
                    of_sqlserver("u", 12, 1, MARK, before=MARK),
                )
            }
        ],
        cdc={"connector": "sqlserver", "key": []},
        models=("log",),
        slow=True,
    ),
    Feed(
        "encodings",
        {"id": "int"} | {name: encoding[0] for name, encoding in ENCODINGS.items()},
        [
            # The values that `held` finds in the state are found in the batch here.
            {"t+0+0.json": lines(typed("c", 10, 2), typed("u", 20, 1)), "t+0+9.json": lines(typed("u", 30, 1))},
        ],
        models=("log", "state"),
    ),
    Feed("held", COLUMNS, rounds(), models=("log", "state", "living"), slow=True),
    Feed(
        "own_placeholder",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    row("c", 10, 1, "a"), row("u", 20, 1, "<gone>"), row("c", 11, 2, "a"), row("u", 21, 2, MARK)
                ),
                # The image before has the value, so the one after has, too.
                "t+0+9.json": lines(
                    row("c", 12, 3, "a"),
                    postgresql("u", 22, {"id": 3, "body": "<gone>"}, before={"id": 3, "body": "a"}),
                ),
            }
        ],
        cdc={"unavailable_value_placeholder": "hex:3c676f6e653e"},
        models=("log", "state"),
        slow=True,
    ),
    Feed(
        "flat_unavailable",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    flattened("c", 10, {"id": 1, "body": "a", "size": 1}),
                    flattened("u", 20, {"id": 1, "body": MARK, "size": 2}),
                )
            }
        ],
        cdc={"shape": "flattened"},
        models=("log", "state"),
        slow=True,
    ),
]


def state_of(project: Project, feed: str, key: int, role: str = "state") -> Row:
    (found,) = [row for row in project.state(feed, role=role) if row["id"] == key]
    return found


@pytest.mark.parametrize("name", ENCODINGS)
def test_placeholder_of_each_type_is_none_of_its_values(project: Project, name: str) -> None:
    logged = project.log("encodings")
    assert [row["_cdc_kind"] for row in logged] == ["change"] * 3
    assert [name in (row["_cdc_unavailable_columns"] or []) for row in logged] == [False, True, True]
    assert [row[name] for row in logged] == [ENCODINGS[name][3], None, None]
    assert state_of(project, "encodings", 1)[name] == ENCODINGS[name][3]
    assert state_of(project, "encodings", 1)["_cdc_unresolved_columns"] is None


@pytest.mark.slow
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("arrival", ARRIVALS, ids=lambda arrival: "".join(map(str, arrival)))
def test_value_is_held_in_any_order_of_arrival(project: Project, history: str, arrival: tuple[int, ...]) -> None:
    found = state_of(project, "held", key_of(history, arrival))
    assert (found["body"], found["size"], found["_cdc_unresolved_columns"]) == HISTORIES[history][1]


@pytest.mark.slow
def test_marker_is_never_published(project: Project) -> None:
    published = [row["body"] for row in project.living("held")]
    assert published.count(MARK) == len(ARRIVALS), "only the snapshot rows that have it as their value"


def assert_moved(project: Project, feed: str, base: int) -> None:
    """Fails unless the values of the moved rows are the ones under their old keys."""
    rows = {row["id"] - base: row for row in project.state(feed) if 0 < row["id"] - base < 100}
    living = {key: (row["body"], row["size"] - base * 10) for key, row in rows.items() if not row["_is_deleted"]}
    assert living == {1: ("z", 60), 3: ("y", 80), 4: ("a", 70)}
    assert (rows[2]["body"], rows[2]["size"] - base * 10) == ("a", 40)
    assert {row["_cdc_unresolved_columns"] is None for row in rows.values()} == {True}


@pytest.mark.slow
def test_value_of_a_moved_row_is_the_one_under_its_old_key(project: Project) -> None:
    assert_moved(project, "held", MOVED)


@pytest.mark.slow
@pytest.mark.parametrize("key", [MOVED + 202, MOVED + 302], ids=["delete is there", "delete comes late"])
def test_value_of_another_row_that_had_the_old_key_is_not_taken(project: Project, key: int) -> None:
    found = state_of(project, "held", key)
    assert (found["body"], found["_cdc_unresolved_columns"]) == (None, ["body"])


@pytest.mark.slow
def test_placeholder_of_the_connectors_own(project: Project) -> None:
    assert {row["id"]: row["body"] for row in project.state("own_placeholder")} == {1: "a", 2: MARK, 3: "<gone>"}


@pytest.mark.slow
def test_flattened(project: Project) -> None:
    (found,) = project.state("flat_unavailable")
    assert (found["body"], found["size"]) == ("a", 2)


@pytest.mark.slow
@pytest.mark.parametrize("feed", ["sqlserver_full", "mysql_noblob"])
def test_connectors_that_have_the_placeholder_in_every_image(project: Project, feed: str) -> None:
    assert {row["id"]: (row["body"], row["_cdc_unresolved_columns"]) for row in project.state(feed)} == HELD
    assert {row["id"] for row in project.living(feed)} == HELD.keys() - {4}
    logged = project.log(feed)
    assert {row["_cdc_kind"] for row in logged} == {"change"}
    assert not {row["body"] for row in logged} & {MARK, REFERENCE}


@pytest.mark.slow
def test_history_of_a_table_with_whole_images_holds_values(project: Project) -> None:
    found = {(row["id"], row["size"]): row["body"] for row in project.history("sqlserver_full")}
    assert (found[1, 10], found[1, 20], found[2, 11], found[2, 21], found[3, 31]) == ("a", "a", "a", None, "b")


@pytest.mark.slow
def test_reference_is_not_published(project: Project) -> None:
    rows = {row["id"]: row for row in project.state("references")}
    assert {key: (row["body"], row["photo"], row["_cdc_unresolved_columns"]) for key, row in rows.items()} == {
        1: (None, None, ["body", "photo"]),
        2: ("b", None, ["photo"]),
    }
    (snapshot, _, updated) = project.log("references")
    in_base64 = encoded(REFERENCE.encode())
    assert snapshot["_cdc_unavailable_columns"] == ["body", f"body: {REFERENCE}", "photo", f"photo: {in_base64}"]
    assert updated["_cdc_unavailable_columns"] == ["photo", f"photo: {in_base64}"]


@pytest.mark.slow
def test_value_of_a_table_without_a_key_is_nowhere_else(project: Project) -> None:
    judged = [
        (row["_cdc_kind"], row["_cdc_reject_reason"], row["_cdc_reject_detail"])
        for row in project.log("unavailable_without_key")
    ]
    rejected = ("rejected", "missing_before", "body")
    assert judged == [("change", None, None), rejected, rejected]
