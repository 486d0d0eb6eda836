"""What real streams of MariaDB have shown, fact by fact (FACTS.md of the captures), and what the tables make of it.

The lines are recorded ones (recorded.py). Of facts 18 to 22 one part is no reader's: a YEAR 0000 ends the connector
before it writes (20).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from .events import MARKER_COLUMNS
from .project import SILVER, Feed, Project
from .recorded import by_id, image, landed, payload, recorded, where

pytestmark = pytest.mark.slow

CUSTOMERS = {
    "id": "bigint",
    **dict.fromkeys(("name", "email", "status", "flags"), "string"),
    "balance": "decimal(20,4)",
    "vip": "tinyint",
    "big": ("decimal(20,0)", {"unsigned": True}),
    "small": "smallint",
    "med": "int",
    "created": ("timestamp_ntz", {"semantic_type": "io.debezium.time.MicroTimestamp"}),
    "placed": ("timestamp_ntz", {"semantic_type": "io.debezium.time.Timestamp"}),
    "updated": "timestamp",
    "birth": "date",
    "at_time": ("string", {"semantic_type": "io.debezium.time.MicroTime"}),
    "yr": "int",
    "doc": "string",
    "bits": ("bigint", {"semantic_type": "io.debezium.data.Bits"}),
    "flag_bit": "boolean",
    "note": "string",
    "data": "binary",
    "fl": "float",
    "db": "double",
    "code": "string",
    "legacy": "int",
}
MARIADB = {"connector": "mariadb", "time_precision_mode": "adaptive_time_microseconds"}

ROWS_OF_ONE_EVENT, MOVED, ONE_SECOND = map(recorded, ("18_rows_of_one_event", "18_changed_key", "19_one_second"))
VALUES = recorded("20_values")
# As the converter writes it with replace.null.with.default=false; no such stream was kept.
WITHOUT_SNAPSHOT = ONE_SECOND[-1].replace(b'"snapshot":"false"', b'"snapshot":null')
TRUNCATED, DDL, TRANSACTIONS = map(recorded, ("22_truncate", "22_ddl", "22_markers"))
CHILDREN = recorded("21_children")

FEEDS = [
    Feed(
        "fact_binlog",
        CUSTOMERS,
        # Newest first.
        landed(
            [*reversed(ONE_SECOND[2:]), *reversed(MOVED[2:]), *reversed(ROWS_OF_ONE_EVENT), WITHOUT_SNAPSHOT],
            [*reversed(ONE_SECOND[:2]), *reversed(MOVED[:2]), *VALUES],
        ),
        cdc=MARIADB,
        models=("log", "state"),
    ),
    Feed(
        "fact_parents",
        {"id": "int", "name": "string"},
        landed(recorded("21_parents")),
        cdc=MARIADB,
        models=("log", "state"),
    ),
    Feed(
        "fact_children",
        {"id": "int", "parent_id": "int", "val": "string"},
        landed(CHILDREN),
        cdc=MARIADB,
        models=("log", "state"),
    ),
    Feed(
        "fact_cart",
        {"id": "int", "items": "string", "touched": "timestamp"},
        landed([*TRUNCATED, *DDL, *TRANSACTIONS]),
        cdc=MARIADB | {"data_collection": "shop.cart"},
        models=("log", "state"),
    ),
    Feed(
        "fact_gtids",
        MARKER_COLUMNS,
        landed(TRANSACTIONS),
        ("id", "status"),
        {"connector": "table", "shape": "row", "order_by": "offset"},
    ),
]

STATUS = "stg_pipe__fact_gtid_status"
STATUS_SQL = """
{{ transaction_status(ref('stg_pipe__fact_gtids'), [ref('stg_pipe__fact_cart')]) }}
"""


def prepare(project: Project, *, slow: bool) -> None:
    """The status of the transactions."""
    (project.folder / "models" / "silver" / f"{STATUS}.sql").write_text(STATUS_SQL, encoding="utf-8")


def place(line: bytes) -> tuple[str, int, int]:
    source = payload(line)["source"]
    return source["file"], source["pos"], source["row"]


def positions(project: Project, *lines: bytes) -> list[str]:
    """Where the events of some lines of customers stand in the order."""
    found = {(row["id"], row["_cdc_op"]): row["_cdc_position"] for row in project.log("fact_binlog")}
    return [found[image(line)["id"], payload(line)["op"]] for line in lines]


def test_fact_18_rows_of_one_event_are_ordered_by_their_number(project: Project) -> None:
    assert {place(line)[:2] for line in ROWS_OF_ONE_EVENT} == {("binlog.000001", 191221)}
    assert sorted(place(line)[2] for line in ROWS_OF_ONE_EVENT) == [0, 1, 2, 3, 4]
    found = positions(project, *sorted(ROWS_OF_ONE_EVENT, key=place))
    assert found == sorted(set(found))
    state = by_id(project.state("fact_binlog"))
    assert [state[key]["name"] for key in (114, 115, 116, 117, 118)] == [
        image(line)["name"] for line in sorted(ROWS_OF_ONE_EVENT, key=place)
    ]


def test_fact_18_only_a_changed_key_has_two_events_of_one_position(project: Project) -> None:
    delete, create = MOVED[2:]
    assert (payload(delete)["op"], payload(create)["op"], place(delete)) == ("d", "c", place(create))
    assert len({*positions(project, delete, create)}) == 2
    state = by_id(project.state("fact_binlog"))
    assert (state[71]["_is_deleted"], state[110]["_is_deleted"]) == (True, False)
    assert state[110]["name"] == image(create)["name"] == "%s%d Bk gZ81b"


def test_fact_19_changes_of_one_second_are_in_the_order_of_the_binlog(project: Project) -> None:
    snapshot, *changes = ONE_SECOND
    assert [payload(line)["op"] for line in ONE_SECOND] == ["r", "d", "c", "u"]
    assert {payload(line)["source"]["ts_ms"] for line in changes} == {1795234950000}
    found = positions(project, *ONE_SECOND)
    assert found == sorted(set(found))
    row = by_id(project.state("fact_binlog"))[43]
    assert (row["_is_deleted"], row["_cdc_op"], row["name"]) == (False, "u", "Дмитрий QrOoJwy4")
    assert image(snapshot)["name"] != row["name"]


def test_fact_19_rows_of_a_snapshot_lie_below_the_changes(project: Project) -> None:
    snapshot = [line for line in [*VALUES, ONE_SECOND[0], MOVED[0]] if payload(line)["op"] == "r"]
    assert len(snapshot) == 6
    assert {(*place(line), payload(line)["source"]["server_id"]) for line in snapshot} == {
        ("binlog.000001", 121589, 0, 0)
    }
    assert {payload(line)["source"]["gtid"] for line in snapshot} == {None}
    below = positions(project, *snapshot)
    assert max(below) < min(positions(project, *ROWS_OF_ONE_EVENT, *MOVED[1:], *ONE_SECOND[1:]))
    rows = [row for row in project.log("fact_binlog") if row["_cdc_op"] == "r"]
    assert Counter(row["_cdc_snapshot"] for row in rows) == {"first": 1, "true": 5}


def test_fact_12_event_without_its_snapshot_marker_is_one_of_the_stream(project: Project) -> None:
    assert json.loads(WITHOUT_SNAPSHOT)["source"]["snapshot"] is None
    rows = [row for row in project.log("fact_binlog") if (row["id"], row["_cdc_op"]) == (43, "u")]
    assert Counter(row["_cdc_snapshot"] for row in rows) == {"false": 1, None: 1}
    # In the place that the line has as it was recorded; what follows tells two deliveries apart.
    file, position, number = place(ONE_SECOND[-1])
    expected = f"{int(file.rpartition('.')[2]):010d}.{position:020d}.{number:010d}."
    assert all(row["_cdc_position"].startswith(expected) for row in rows)
    assert by_id(project.state("fact_binlog"))[43]["_cdc_op"] == "u"


def test_fact_20_values_are_those_of_the_table(project: Project) -> None:
    """As the database prints them at the first checkpoint (oracle/00-snapshot)."""
    rows = by_id(project.state("fact_binlog"))
    shown = {
        key: tuple(rows[key][name] for name in ("big", "vip", "at_time", "birth", "created", "placed", "updated", "yr"))
        for key in (1, 2, 5, 7)
    }
    assert shown == {
        1: (
            Decimal(9007199254740993),
            2,
            "-838:59:59.000000",
            "2000-02-29",
            "2022-02-26 03:33:12.123456",
            "2024-01-12 00:22:35",
            "2038-01-19 03:14:07",
            2024,
        ),
        # Its birth is 0000-00-00.
        2: (None, 2, "23:59:59.999000", None, None, None, "2019-04-08 12:48:35", 2155),
        5: (
            Decimal(9223372036854775808),
            -1,
            "23:59:59.999000",
            "1582-10-10",
            "2019-03-14 21:51:46.999999",
            "2025-02-12 13:30:41",
            "2025-02-11 16:57:34",
            2155,
        ),
        7: (
            Decimal(18446744073709551615),
            -1,
            "23:59:59.999000",
            "1985-06-15",
            "2020-02-20 09:59:29",
            "2020-05-30 17:41:23",
            "2022-11-05 00:48:33",
            2155,
        ),
    }


def test_fact_20_bits_sets_and_documents_are_those_of_the_table(project: Project) -> None:
    assert {image(line)["big"] for line in VALUES} == {9007199254740993, None, -(2**63), -1}
    rows = by_id(project.state("fact_binlog"))
    assert {key: (rows[key]["bits"], rows[key]["flag_bit"], rows[key]["flags"]) for key in (1, 2, 5, 7, 117)} == {
        1: (None, False, None),
        2: (None, None, ""),
        5: (5, True, "a"),
        7: (193, None, "a"),
        117: (None, True, "a,b,c d"),
    }
    assert [rows[key]["balance"] for key in (1, 2, 5, 7)] == [
        Decimal("9999999999999999.9999"),
        Decimal("0.0000"),
        Decimal("-849805.2131"),
        Decimal("-0.0001"),
    ]
    assert rows[116]["doc"] == '{"k": "עברית", "n": [1, null, 12345678901234567890]}'
    assert rows[2]["data"].hex().upper() == "BEFF2518CA469A91889E07A789336A55"
    assert (rows[5]["fl"], rows[5]["db"], rows[5]["legacy"]) == (1.5, 1e300, -5)


def test_fact_21_cascades_have_no_event_and_are_found_by_reconcile(project: Project, tmp_path: Path) -> None:
    """The dump is what the database had afterwards (oracle/04-final), of the children that the lines are of."""
    parents = {key: row["_is_deleted"] for key, row in by_id(project.state("fact_parents")).items()}
    assert {key for key, is_deleted in parents.items() if is_deleted} == {3, 4}
    assert parents[100] is False
    of_parents = defaultdict(set)
    for row in project.state("fact_children"):
        assert not row["_is_deleted"]
        of_parents[row["parent_id"]].add(row["id"])
    assert of_parents == {2: {1, 11, 21}, 3: {2, 12, 22}, 4: {3, 13, 23}}

    dump = tmp_path / "children.csv"
    rows = [(1, 2), (3, 100), (11, 2), (13, 100), (21, 2), (23, 100)]
    dump.write_text("id,parent_id\n" + "".join(f"{key},{parent}\n" for key, parent in rows), encoding="utf-8")
    arguments = {
        "model": "slv_pipe__fact_children_state",
        "dump": str(dump),
        "format": "csv",
        "columns": ["parent_id"],
    }
    outcome = project.dbt("run-operation", "reconcile", "--args", json.dumps(arguments))
    assert "0 rows are missing, 3 are there that the dump has not, 3 are different" in outcome.printed
    assert "different id=3 parent_id: 4, in the dump 100\n" in outcome.printed
    assert all(f"extra id={key}\n" in outcome.printed for key in (2, 12, 22))


def test_fact_22_replaced_row_is_an_update(project: Project) -> None:
    """REPLACE INTO is logged as one event of several rows, each with the image before."""
    replaced = where(TRUNCATED, lambda event: event["source"]["gtid"] == "0-4711-324")
    assert {payload(line)["op"] for line in replaced} == {"u"}
    assert len(replaced) == 7
    rows = [row for row in project.log("fact_cart") if row["_cdc_transaction_id"] == "0-4711-324"]
    assert {(row["_cdc_op"], row["items"]) for row in rows if row["_cdc_kind"] == "change"} == {
        ("u", '["\\u738b\\u5c0f\\u660e"]')
    }


def test_fact_22_truncate_takes_the_rows_below_it(project: Project) -> None:
    rows = by_id(project.state("fact_cart"))
    assert {key for key, row in rows.items() if not row["_is_deleted"]} == {44, 51, 66}
    # Key 51 was there before, too.
    assert (rows[51]["items"], rows[51]["_cdc_op"]) == ("{}", "c")
    assert len(rows) == 11


def test_fact_22_ddl_and_markers_are_counted_and_change_nothing(project: Project) -> None:
    assert "alter table order_line" in json.loads(DDL[0])["ddl"]
    kinds = Counter(row["_cdc_kind"] for row in project.log("fact_cart"))
    assert kinds == {"change": 13, "truncate": 1, "schema_change": 1, "transaction": 9}


def test_fact_22_transaction_is_its_gtid_and_one_of_a_ddl_has_no_end(project: Project) -> None:
    markers = defaultdict(list)
    for line in TRANSACTIONS:
        markers[json.loads(line)["id"]].append(json.loads(line)["status"])
    assert {name for name, found in markers.items() if found == ["BEGIN"]} == {"0-4711-334"}
    (truncate,) = where(TRUNCATED, lambda event: event["op"] == "t")
    assert payload(truncate)["source"]["gtid"] == payload(truncate)["transaction"]["id"] == "0-4711-334"

    outcome = project.dbt("run", "--select", STATUS)
    assert not outcome.failed, outcome.messages
    status = by_id(project.rows(f"{SILVER}.{STATUS}"), "transaction_id")
    complete = {name: row["is_complete"] for name, row in status.items()}
    # Of the last one three events of six have come.
    assert complete == complete | {
        "0-4711-324": True,
        "0-4711-330": True,
        "0-4711-334": True,
        "0-4711-341": False,
    }
    assert status["0-4711-341"]["missing_from"] == ["shop.cart"]
