"""What real streams of PostgreSQL have shown, fact by fact (FACTS.md of the captures): which rows there are.

The lines are recorded ones (recorded.py). Each test first says that they show the fact, then what comes out. What is
about values is in test_facts_of_postgresql_values.

Of facts 1 to 17 these parts are no reader's: rolled back transactions and savepoints leave nothing (10), what the
worker's log warns of (6, 13), which settings drop headers (2). Nothing in a file tells a table of replica identity
FULL (1): its YAML does (test_contested_keys). What the section on sinks says is in test_offsets (holes, names with
first and last offset as numbers) and test_shapes (messages with and without schema).
"""

from __future__ import annotations

import base64
import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .events import MARKER_COLUMNS
from .project import SILVER, Feed, Project, Row
from .recorded import ORDERS, VARIABLE, by_id, image, landed, landed_by_lenses, payload, recorded, where

pytestmark = pytest.mark.slow

MARK = "__debezium_unavailable_value"
# As FACTS.md has them, by the column of that type.
PLACEHOLDERS: dict[str, Any] = {
    "body": MARK,
    "raw": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
    "tags": [MARK],
    "ints": list(MARK.encode()),
    "bigs": list(MARK.encode()),
    "uuids": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
    "meta": MARK,
    "meta_json": MARK,
    "hs": f'{{"{MARK}":"{MARK}"}}',
    "x": MARK,
}

MICRO_TIMESTAMP = {"semantic_type": "io.debezium.time.MicroTimestamp"}
CUSTOMERS = {
    "id": "int",
    "name": "string",
    "email": "string",
    "birth": "date",
    "created_at": "timestamp",
    "local_ts": ("timestamp_ntz", MICRO_TIMESTAMP),
    "balance": "decimal(12,2)",
    "ratio": ("string", VARIABLE),
    "notes": "string",
    "prefs": "string",
    "tags": "array<string>",
    "uid": "string",
    "active": "boolean",
    "big": "bigint",
    "t": ("bigint", {"semantic_type": "io.debezium.time.MicroTime"}),
    "raw": "binary",
    "mood": "string",
    "legacy_code": "string",
}
CARTS = {"id": "bigint", "customer_id": "int", "items": "string", "touched": "timestamp"}
SEATS = {"seat_no": "int", "holder": "string", "ver": "int"}
AUDIT_LOG = {"at": "timestamp", "actor": "string", "action": "string", "detail": "string"}
ROWS = {"connector": "table", "shape": "row", "order_by": "offset"}
STORED = {"layout": "lenses", "store_envelope": True, "replica_identity": "default"}
FLATTENED = {"shape": "flattened", "replica_identity": "default"}

CREATED = where(recorded("01_placeholders"), lambda event: event["op"] in "rc")
UPDATED = where(recorded("01_placeholders"), lambda event: event["op"] == "u")
MOVED = recorded("02_changed_key")
COMMITS = recorded("08_order_of_commits")
TRUNCATED = recorded("04_truncate")
TRUNCATE = TRUNCATED.index(where(TRUNCATED, lambda event: event["op"] == "t")[0])
SNAPSHOT, SWAPPED = recorded("07_snapshot"), recorded("09_swapped_keys")
INCREMENTAL = recorded("15_incremental")
AGAIN, EMPTIED, END_OF_ALL = recorded("16_again"), recorded("16_emptied"), recorded("16_end_of_all")
SECOND_SNAPSHOT = 173431848


def is_incremental(event: dict[str, Any]) -> bool:
    return bool(event["source"]["snapshot"] == "incremental")


def partition(line: bytes) -> int:
    return int(json.loads(line)["metadata"]["partition"])


MEDIA = {
    "id": "int",
    **dict.fromkeys(("title", "body"), "string"),
    "raw": "binary",
    "tags": "array<string>",
    "ints": "array<int>",
    "bigs": "array<bigint>",
    "uuids": "array<string>",
    **dict.fromkeys(("meta", "meta_json", "hs", "x"), "string"),
    "rev": "int",
}
FEEDS = [
    Feed("fact_media", MEDIA, landed_by_lenses(UPDATED, CREATED), cdc=STORED, models=("log", "state")),
    Feed(
        "fact_customers",
        CUSTOMERS,
        # The row under the new key is in another partition than the one under the old key.
        landed_by_lenses(
            [*[line for line in MOVED if partition(line) == 0], *reversed(COMMITS)],
            [
                *[line for line in MOVED if partition(line) == 2],
                *recorded("10_transaction"),
                *recorded("11_dropped_column"),
            ],
        ),
        cdc=STORED | {"data_collection": "public.customers"},
        models=("log", "state"),
    ),
    Feed(
        "fact_flat_customers",
        CUSTOMERS,
        landed([*recorded("02_changed_key_flattened"), *recorded("03_before_image")]),
        cdc=FLATTENED,
        models=("log", "state"),
    ),
    Feed(
        "fact_carts",
        CARTS,
        # What the truncate has taken comes after it.
        landed_by_lenses(TRUNCATED[TRUNCATE:], [*TRUNCATED[:TRUNCATE], *recorded("10_transaction_of_carts")]),
        cdc=STORED | {"data_collection": "public.carts"},
        models=("log", "state"),
    ),
    Feed(
        "fact_flat_carts",
        CARTS,
        landed([*recorded("04_no_truncate"), *recorded("04_message")]),
        cdc=FLATTENED,
        models=("log", "state"),
    ),
    Feed(
        "fact_seats",
        SEATS,
        # Cut between the create of a key and the delete of the other row that had it.
        landed_by_lenses([*SNAPSHOT, *SWAPPED[:3]], SWAPPED[3:]),
        ("seat_no",),
        STORED | {"replica_identity": "full"},
        models=("log", "state"),
    ),
    Feed("fact_markers", MARKER_COLUMNS, landed(recorded("10_markers")), ("id", "status"), ROWS),
    Feed(
        "fact_audit_log",
        AUDIT_LOG,
        landed_by_lenses([*recorded("14_no_key"), *recorded("14_tombstones")]),
        (),
        STORED | {"replica_identity": "full"},
        models=("log", "state", "living"),
    ),
    Feed(
        "fact_flat_audit_log",
        AUDIT_LOG,
        landed(recorded("14_flattened")),
        (),
        {"shape": "flattened", "replica_identity": "full"},
        models=("log", "state", "living", "quarantine"),
    ),
    Feed(
        "fact_incremental",
        CUSTOMERS,
        landed(
            where(INCREMENTAL, lambda event: not is_incremental(event)),
            where(INCREMENTAL, is_incremental),
        ),
        cdc={"replica_identity": "default"},
        models=("log", "state"),
    ),
    Feed("fact_signals", {"id": "string", "type": "string", "data": "string"}, landed(recorded("15_signals"))),
    Feed(
        "fact_again",
        ORDERS,
        landed(
            where(AGAIN, lambda event: event["source"]["lsn"] < SECOND_SNAPSHOT),
            where(AGAIN, lambda event: event["source"]["lsn"] >= SECOND_SNAPSHOT),
        ),
        ("region", "order_no"),
        {"replica_identity": "default"},
        models=("log", "state"),
    ),
    Feed(
        "fact_last_table",
        SEATS,
        landed(END_OF_ALL[:1], END_OF_ALL[1:]),
        ("seat_no",),
        {"replica_identity": "full"},
    ),
    Feed(
        "fact_emptied",
        CARTS,
        landed(EMPTIED[:3], EMPTIED[3:]),
        cdc={"replica_identity": "default"},
        models=("log", "state"),
    ),
]

STATUS = "stg_pipe__fact_transaction_status"
STATUS_SQL = """
{{ transaction_status(
    ref('stg_pipe__fact_markers'), [ref('stg_pipe__fact_customers'), ref('stg_pipe__fact_carts')]
) }}
"""


def prepare(project: Project, *, slow: bool) -> None:
    """The status of transactions, and the log in which the emptied table's second snapshot is seen to end."""
    (project.folder / "models" / "silver" / f"{STATUS}.sql").write_text(STATUS_SQL, encoding="utf-8")
    state = project.folder / "models" / "silver" / "fact_emptied" / "slv_pipe__fact_emptied_state.sql"
    sql = state.read_text(encoding="utf-8")
    changed = sql.replace('"))', '"), snapshotted_with=[ref("stg_pipe__fact_last_table")])')
    assert changed != sql
    state.write_text(changed, encoding="utf-8")


def as_text(micros: int) -> str:
    """A time as Spark's cast to string has it, in UTC."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)
    return f"{moment:%Y-%m-%d %H:%M:%S}" + f".{moment.microsecond:06d}".rstrip("0").rstrip(".")


def changes(project: Project, feed: str) -> list[Row]:
    return [row for row in project.log(feed) if row["_cdc_kind"] == "change"]


def position_of(project: Project, feed: str, line: bytes) -> str:
    """Where the event of a recorded line stands in the order, found by its source position and its key."""
    event, row = payload(line), image(line)
    own = int(json.loads(event["source"]["sequence"])[1])
    found = [
        change["_cdc_position"]
        for change in changes(project, feed)
        if change["_cdc_op"] == event["op"]
        and all(change[name] == row[name] for name in project.feeds[feed].key)
        and f"{own:020d}" in change["_cdc_position"]
    ]
    assert len(found) == 1, (own, found)
    return str(found[0])


def test_fact_01_placeholder_of_each_type_is_none_of_its_values(project: Project) -> None:
    placed = {
        image(line)["id"]: {name for name, form in PLACEHOLDERS.items() if image(line)[name] == form}
        for line in UPDATED
    }
    assert set.union(*placed.values()) == set(PLACEHOLDERS)
    log = {row["id"]: row for row in project.log("fact_media", 0)}
    assert {key: set(row["_cdc_unavailable_columns"]) for key, row in log.items()} == placed
    first = by_id(project.state("fact_media", 0))
    assert {key: set(row["_cdc_unresolved_columns"]) for key, row in first.items()} == placed
    assert all(first[key][name] is None for key, names in placed.items() for name in names)


def test_fact_01_value_that_was_not_sent_is_the_one_that_the_row_has(project: Project) -> None:
    rows = by_id(project.state("fact_media"))
    assert len(UPDATED) == len(CREATED) == len(rows)
    for line in UPDATED:
        after = image(line)
        (created,) = (line for line in CREATED if image(line)["id"] == after["id"])
        expected = {
            name: image(created)[name] if value == PLACEHOLDERS.get(name, "") else value
            for name, value in after.items()
        }
        expected["raw"] = expected["raw"] and base64.b64decode(expected["raw"])
        assert {name: rows[after["id"]][name] for name in MEDIA} == expected
        assert rows[after["id"]]["_cdc_unresolved_columns"] is None


def test_fact_02_changed_key_is_a_delete_and_a_create_of_one_row(project: Project) -> None:
    (delete,) = where(MOVED, lambda event: event["op"] == "d")
    (create,) = where(MOVED, lambda event: event["op"] == "c")
    assert payload(delete)["source"]["lsn"] == payload(create)["source"]["lsn"]
    assert payload(delete)["source"]["txId"] == payload(create)["source"]["txId"]
    assert json.loads(delete)["headers"]["__debezium.newkey"] == {"id": 162}
    assert json.loads(create)["headers"]["__debezium.oldkey"] == {"id": 7}
    assert image(create)["notes"] == MARK
    (snapshot,) = where(MOVED, lambda event: event["op"] == "r")

    first = by_id(project.state("fact_customers", 0))
    assert (first[162]["notes"], first[162]["_cdc_unresolved_columns"]) == (None, ["notes"])
    rows = by_id(project.state("fact_customers"))
    assert rows[162]["notes"] == image(snapshot)["notes"]
    assert (rows[162]["_cdc_moved_columns"], rows[162]["_cdc_unresolved_columns"]) == (["notes"], None)
    assert (rows[7]["_is_deleted"], rows[162]["_is_deleted"]) == (True, False)
    assert Counter(row["_cdc_kind"] for row in project.log("fact_customers"))["tombstone"] == 1


def test_fact_02_flattened_key_change_is_known_by_its_lsn_alone(project: Project) -> None:
    moved = recorded("02_changed_key_flattened")
    delete, create = (json.loads(line) for line in moved[3:])
    assert (delete["__op"], create["__op"], create["notes"]) == ("d", "c", MARK)
    assert delete["__lsn"] == create["__lsn"]
    rows = by_id(project.state("fact_flat_customers"))
    assert rows[168]["notes"] == json.loads(moved[0])["notes"]
    assert (rows[3]["_is_deleted"], rows[168]["_is_deleted"]) == (True, False)
    assert rows[168]["_cdc_unresolved_columns"] is None


def test_fact_03_before_image_of_a_delete_is_no_value(project: Project) -> None:
    created, deleted = (
        {
            record["id"]: record
            for record in map(json.loads, recorded("03_before_image"))
            if record["__deleted"] == is_deleted
        }
        for is_deleted in ("false", "true")
    )
    rows = by_id(project.state("fact_flat_customers"))
    assert {(record["name"], record["active"], record["email"]) for record in deleted.values()} == {("", True, None)}
    assert {record["active"] for record in created.values()} == {True, False}
    for key, record in created.items():
        assert {name: rows[key][name] for name in ("name", "email", "active", "uid", "big")} == {
            name: record[name] for name in ("name", "email", "active", "uid", "big")
        }
        assert rows[key]["_is_deleted"] is True
    (delete,) = where(MOVED, lambda event: event["op"] == "d")
    row = by_id(project.state("fact_customers"))[7]
    assert (image(delete)["name"], row["name"]) == ("", "a,b;c jaNtTnDw0")


def test_fact_04_truncate_has_no_key_and_its_place_is_its_lsn(project: Project) -> None:
    truncate = TRUNCATED[TRUNCATE]
    assert (json.loads(truncate)["key"], payload(truncate)["before"], payload(truncate)["after"]) == (None, None, None)
    # One create before it and two after it are of its own transaction.
    assert Counter(event["source"]["txId"] for event in map(payload, TRUNCATED))[3013] == 4
    rows = by_id(project.state("fact_carts"))
    living = {key for key, row in rows.items() if not row["_is_deleted"]}
    assert living == {9007199254741096, 9007199254741097, 9007199254741098}
    gone = {key: row["_deleted_at"] for key, row in rows.items() if row["_is_deleted"]}
    assert gone == dict.fromkeys(
        {image(line)["id"] for line in [*TRUNCATED[:TRUNCATE], *recorded("10_transaction_of_carts")]},
        as_text(payload(truncate)["source"]["ts_us"]),
    )
    assert len(gone) == 6
    assert [row["id"] for row in project.log("fact_carts") if row["_cdc_kind"] == "truncate"] == [None]


def test_fact_04_truncate_that_a_flattened_stream_drops_is_found_by_reconcile(project: Project, tmp_path: Path) -> None:
    """The dump is what the database had after the truncate, of the keys that the lines are of."""
    assert {json.loads(line)["__op"] for line in recorded("04_no_truncate")} == {"r", "c", "u"}
    dump = tmp_path / "carts.csv"
    rows = "9007199254741086,131,[0.5],2022-02-08 08:06:13.123+00\n9007199254741087,108,[],\n"
    dump.write_text("id,customer_id,items,touched\n" + rows, encoding="utf-8")
    arguments = {"model": "slv_pipe__fact_flat_carts_state", "dump": str(dump), "format": "csv"}
    outcome = project.dbt("run-operation", "reconcile", "--args", json.dumps(arguments))
    assert "0 rows are missing, 1 are there that the dump has not, 0 are different" in outcome.printed
    assert "extra id=9007199254740996\n" in outcome.printed


def test_fact_04_logical_message_in_a_flattened_stream_is_counted(project: Project) -> None:
    (message,) = recorded("04_message")
    assert (json.loads(message)["op"], "__op" in json.loads(message)) == ("m", False)
    assert Counter(row["_cdc_kind"] for row in project.log("fact_flat_carts")) == {"change": 6, "message": 1}


def test_fact_07_rows_of_a_snapshot_share_one_lsn(project: Project) -> None:
    sources = [payload(line)["source"] for line in SNAPSHOT]
    assert {(source["lsn"], source["txId"], source["sequence"]) for source in sources} == {
        (45277608, 2063, '[null,"45277608"]')
    }
    rows = [row for row in project.log("fact_seats") if row["_cdc_op"] == "r"]
    assert [row["seat_no"] for row in rows] == list(range(1, 21))
    markers = ["first_in_data_collection", *["true"] * 18, "last"]
    assert [row["_cdc_snapshot"] for row in rows] == markers == [source["snapshot"] for source in sources]
    assert {(row["_cdc_transaction_id"], row["_cdc_transaction_order"]) for row in rows} == {("2063", None)}
    positions = [row["_cdc_position"] for row in rows]
    assert len(set(positions)) == 20
    streamed = [row["_cdc_position"] for row in changes(project, "fact_seats") if row["_cdc_op"] != "r"]
    assert max(positions) < min(streamed)


def test_fact_08_order_is_that_of_the_commits_and_not_that_of_the_lsns(project: Project) -> None:
    first, second = (payload(line)["source"] for line in COMMITS)
    assert first["lsn"] > second["lsn"]
    before, own = map(int, json.loads(second["sequence"]))
    assert before > own
    positions = [position_of(project, "fact_customers", line) for line in COMMITS]
    assert positions == sorted(positions)
    # Of the key the later event has won, though it was delivered before the one of the lower offset.
    assert by_id(project.state("fact_customers"))[162]["t"] == image(COMMITS[1])["t"]


def test_fact_08_positions_compare_as_numbers_and_never_tie(project: Project) -> None:
    eight, nine = (
        [row["_cdc_position"] for row in changes(project, feed)] for feed in ("fact_customers", "fact_again")
    )
    assert (len(str(payload(MOVED[0])["source"]["lsn"])), len(str(SECOND_SNAPSHOT))) == (8, 9)
    assert len({len(position) for position in eight + nine}) == 1
    assert max(eight) < min(nine)
    # The delete and the create of the key change are among them.
    assert len(set(eight)) == len(eight)


def test_fact_08_clock_of_the_source_is_the_commit(project: Project) -> None:
    events = [event for event in map(payload, TRUNCATED) if event["source"]["txId"] == 3013]
    assert len({event["source"]["lsn"] for event in events}) == 4
    times = {row["_cdc_source_ts"] for row in project.log("fact_carts") if row["_cdc_transaction_id"] == "3013"}
    assert times == {as_text(events[0]["source"]["ts_us"])}


def test_fact_09_swapped_and_shifted_keys_lose_no_row(project: Project) -> None:
    operations = [
        "tombstone" if event is None else f"{event['op']}({(event['after'] or event['before'])['seat_no']})"
        for event in map(payload, SWAPPED)
    ]
    assert [name for name in operations if name != "tombstone"] == [
        *("d(13)", "c(14)", "d(14)", "c(13)"),
        *("d(18)", "c(19)", "d(19)", "c(20)", "d(20)", "c(21)"),
    ]
    expected = {image(line)["seat_no"]: (image(line)["holder"], 0) for line in SNAPSHOT}
    del expected[18]
    expected |= {
        13: ("\u2028sep", 1),
        14: ('{json:"no"}', 1),
        19: ("a,b;c", 0),
        20: ("line\nbreak", 0),
        21: ("NULL", 0),
    }
    rows = by_id(project.state("fact_seats"), "seat_no")
    living = {key: (row["holder"], row["ver"]) for key, row in rows.items() if not row["_is_deleted"]}
    assert living == expected


@pytest.fixture(scope="module")
def status(project: Project) -> dict[str, Row]:
    """Transactions by their id, over the logs that the rounds have built."""
    outcome = project.dbt("run", "--select", STATUS)
    assert not outcome.failed, outcome.messages
    return by_id(project.rows(f"{SILVER}.{STATUS}"), "transaction_id")


def test_fact_10_marker_of_a_transaction_is_known_by_the_part_before_the_colon(status: dict[str, Row]) -> None:
    ids = [json.loads(line)["id"] for line in recorded("10_markers")]
    assert len(set(ids)) == 4
    assert {identifier.split(":")[0] for identifier in ids} == {"2087", "2118"}
    # Two of the four events of customers have come of the second.
    assert {name: (status[name]["is_complete"], status[name]["missing_from"]) for name in ("2087", "2118")} == {
        "2087": (True, []),
        "2118": (False, ["public.customers"]),
    }


def test_fact_11_dropped_column_is_absent_and_not_null(project: Project) -> None:
    (line,) = recorded("11_dropped_column")
    assert "legacy_code" not in image(line)
    (row,) = (row for row in changes(project, "fact_customers") if row["id"] == 291)
    assert (row["legacy_code"], row["_cdc_absent_columns"]) == (None, ["legacy_code"])
    assert {row["legacy_code"] for row in changes(project, "fact_customers") if row["id"] == 169} == {"A   "}


def test_fact_14_table_without_a_key_replays_as_a_multiset(project: Project) -> None:
    lines = recorded("14_no_key")
    assert {json.loads(line)["key"] for line in lines} == {None}
    snapshot = where(lines, lambda event: event["op"] == "r")
    assert len(snapshot) == 3
    assert len({json.dumps(image(line)) for line in snapshot}) == 1
    assert len({partition(line) for line in lines}) == 3
    twice = ("bot", '{"b0": {"b0": true}, "b1": {"a0": "x", "ü1": 1}}')
    found = [(row["actor"], row["action"], row["detail"]) for row in project.living("fact_audit_log")]
    # Of three equal rows one was updated and one deleted; another row was created and updated.
    assert Counter(found) == {
        (twice[0], "", twice[1]): 1,
        (twice[0], "u9 ", twice[1]): 1,
        ("ann", "cfW9w", '{"b0": ["a,b;c"], "b1": 12345678901234567890}'): 1,
    }
    assert {row["_cdc_ambiguous_events"] for row in project.state("fact_audit_log")} == {0}


def test_fact_14_tombstone_without_a_key_is_counted(project: Project) -> None:
    tombstones = recorded("14_tombstones")
    assert {(json.loads(line)["key"], json.loads(line)["value"]) for line in tombstones} == {(None, None)}
    assert Counter(row["_cdc_kind"] for row in project.log("fact_audit_log"))["tombstone"] == len(tombstones)


def test_fact_14_flattened_update_without_a_key_is_refused(project: Project) -> None:
    assert [json.loads(line)["__op"] for line in recorded("14_flattened")] == ["r", "u", "d", "d"]
    (rejected,) = project.quarantine("fact_flat_audit_log")
    sent = json.loads(rejected["_cdc_raw"])
    assert (rejected["_cdc_reject_reason"], sent["__op"], sent["action"]) == ("missing_before", "u", "F8Bcx")
    assert project.living("fact_flat_audit_log") == []


def test_fact_15_incremental_snapshot_has_no_lsn_and_changes_nothing_that_is_newer(project: Project) -> None:
    sources = [payload(line)["source"] for line in where(INCREMENTAL, is_incremental)]
    assert {(source["lsn"], source["txId"]) for source in sources} == {(None, None)}
    rows = by_id(project.state("fact_incremental"))
    # They have come last. Key 6 was deleted, key 47 updated afterwards; of the others they are the newest.
    assert {key: (row["_is_deleted"], row["_cdc_op"], row["big"]) for key, row in rows.items()} == {
        6: (True, "d", 9223372036854775807),
        25: (False, "r", 9007199254740991),
        47: (False, "u", -9007199254740995),
        119: (False, "r", 0),
    }
    assert rows[25]["name"] == "back\\slash XBdF76NO'Brien"


@pytest.mark.parametrize("key", [6, 25, 47, 119])
def test_fact_15_place_of_an_incremental_row_is_that_of_its_watermark(project: Project, key: int) -> None:
    """The lines of a key are of one partition, in the order of their offsets."""
    of_key = where(INCREMENTAL, lambda event: (event["after"] or event["before"])["id"] == key)
    positions = [position_of(project, "fact_incremental", line) for line in of_key]
    assert positions == sorted(positions)


def test_fact_15_rows_of_the_signal_table_are_ordinary_events(project: Project) -> None:
    assert [(row["_cdc_kind"], row["type"]) for row in project.log("fact_signals")] == [
        ("change", "execute-snapshot"),
        ("change", "snapshot-window-open"),
        ("change", "snapshot-window-close"),
    ]


def test_fact_16_snapshot_taken_anew_closes_the_rows_that_it_does_not_find(project: Project) -> None:
    vanished = {(image(line)["region"], image(line)["order_no"]) for line in AGAIN} - {
        (image(line)["region"], image(line)["order_no"])
        for line in where(AGAIN, lambda event: event["source"]["lsn"] == SECOND_SNAPSHOT)
    }
    assert vanished == {("A/P", 18), ("ö st", 24), ("US", 1)}
    first, second = (
        {(row["region"], row["order_no"]): row["_is_deleted"] for row in project.state("fact_again", number)}
        for number in (0, 1)
    )
    # One of them had been deleted before.
    assert {key for key, is_deleted in first.items() if is_deleted} == {("US", 1)}
    assert {key for key, is_deleted in second.items() if is_deleted} == vanished
    assert len(second) == 5


def test_fact_16_emptied_table_is_known_from_what_the_others_say(project: Project) -> None:
    assert not any(payload(line)["source"]["lsn"] == SECOND_SNAPSHOT for line in EMPTIED)
    assert [payload(line)["source"]["snapshot"] for line in END_OF_ALL] == ["last", "last"]
    assert payload(END_OF_ALL[1])["source"]["lsn"] == SECOND_SNAPSHOT
    first, second = (
        {row["id"] for row in project.state("fact_emptied", number) if not row["_is_deleted"]} for number in (0, 1)
    )
    assert first == {9007199254740993, 9007199254741017, 9007199254741018}
    assert second == {9007199254741043}
