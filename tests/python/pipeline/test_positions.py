"""Order of the events of each connector, from what its `source` says; and of feeds that declare another order."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .events import Event, flattened, lines, mysql, of_connector
from .project import Feed, Project, Row

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "note": "string"}


def noted(note: str) -> dict[str, Any]:
    return {"id": 1, "note": note}


def sqlserver(op: str, note: str, commit: str | None, change: str | None = None, serial: int | None = None) -> Event:
    return of_connector("sqlserver", op, noted(note), commit_lsn=commit, change_lsn=change, event_serial_no=serial)


def oracle(op: str, note: str, scn: str | None, commit: str | None = None, **more: Any) -> Event:
    return of_connector("oracle", op, noted(note), scn=scn, commit_scn=commit, txId="6.28.807", **more)


def mongodb(op: str, note: str, second: int, order: int | None, **more: Any) -> Event:
    """An envelope of MongoDB; `more` are fields of `source`."""
    source: dict[str, Any] = {"ts_ms": second * 1000, "version": "3.3.1.Final", "ord": order} | more
    event = of_connector("mongodb", op, None, **source)
    document = json.dumps({"_id": {"$numberLong": "1"}, "note": note})
    return event | {"after": None if op == "d" else document, "before": document if op == "d" else None}


# Events of one key by connector, oldest first; they lie in the file the other way round.
ORDERED: dict[str, list[Event]] = {
    "sqlserver": [
        sqlserver("r", "snapshot", "00000027:00000ab0:0002"),
        sqlserver("c", "at the snapshot", "00000027:00000AB0:0002", "00000027:00000aa0:0001", 1),
        sqlserver("u", "next commit", "00000027:00000ac0:0007", "00000027:00000ab8:0002", 2),
        sqlserver("d", "old key", "00000027:00000ac0:0007", "00000027:00000ac0:0002", 1),
        sqlserver("c", "new key", "00000027:00000ac0:0007", "00000027:00000ac0:0002", 2),
        sqlserver("u", "tenth of a change", "00000027:00000ac0:0007", "00000027:00000ac0:0002", 10),
        sqlserver("u", "earlier change, later commit", "00000100:00000001:0001", "00000027:00000ab9:0001", 2),
    ],
    "oracle": [
        oracle("r", "snapshot", "999"),
        oracle("c", "committed at the snapshot", "998", "999", rs_id="0x000001.00000001.0010", ssn=0),
        oracle("u", "later block", "1000", "1001", rs_id=" 0x00000a.00000001.0010 ", ssn=0),
        oracle("u", "later statement", "1000", "1001", rs_id="0x00000a.00000001.0010", ssn=1),
        oracle("u", "later log", "1000", "1001", rs_id="0x00000b.00000000.0010", ssn=0),
        oracle("u", "first without a block", "1001", "1002", ssn=0, txSeq=9),
        oracle("u", "second without a block", "1001", "1002", ssn=0, txSeq=10),
        oracle("u", "earlier change, later commit", "997", "10000000000000000000001"),
        oracle("u", "later change", "10000000000000000000000", "10000000000000000000001"),
    ],
    "mongodb": [
        mongodb("r", "snapshot", 100, 5),
        mongodb("c", "at the snapshot", 100, 5),
        mongodb("u", "later in the second", 100, 10, wallTime=100_007),
        mongodb("d", "next second", 101, 1),
    ],
}
REJECTED: dict[str, list[Event]] = {
    "sqlserver": [
        sqlserver("u", "no commit", None, "00000027:00000ab8:0002", 2),
        sqlserver("u", "no change", "00000027:00000ac0:0007"),
        sqlserver("r", "not an lsn", "NULL"),
    ],
    "oracle": [
        oracle("u", "no commit", "1000"),
        oracle("u", "no change", None, "1000"),
        oracle("c", "not a number", "1000", "10e3"),
    ],
    "mongodb": [
        mongodb("u", "no order", 100, None),
        mongodb("u", "wall clock", 100, 1, wallTime=100_007, ts_ms=100_007, version="3.4.0.Final"),
        mongodb("u", "whole second of a wall clock", 100, 1, wallTime=100_000, version="3.4.0.Final"),
    ],
}
PARTIAL = mongodb("u", "", 102, 1) | {"after": None, "updateDescription": {"updatedFields": '{"note": "x"}'}}

# What orders by the place of delivery: (name of the file, its lines), and the notes in order of the offsets.
DELIVERED: dict[str, bytes] = {
    "t+0+0000000100.json": lines(*(flattened("u", None, noted(note)) for note in ("100", "101", "102"))),
    # The same offsets again, in a file that goes on: an overlap.
    "t+0+0000000101.json": lines(*(flattened("u", None, noted(note)) for note in ("101", "102", "103"))),
    "t+0+0000000099.json": lines(flattened("c", None, noted("099"))),
    # Without an offset in its name.
    "nowhere.json": lines(flattened("u", None, noted("nowhere"))),
}

# One transaction of MariaDB 11.4: one position, and `row` begins anew with each statement.
SHARED = [mysql("c", "binlog.000001", 900, {"id": number, "note": "created"}, binlog_row=number) for number in (0, 1)]
SHARED.append(mysql("u", "binlog.000001", 900, {"id": 1, "note": "updated"}, binlog_row=0))
# A move, and rows of one statement, of which one is delivered twice.
OWN = [
    mysql("d", "binlog.000001", 900, {"id": 3, "note": "moved"}),
    mysql("c", "binlog.000001", 900, {"id": 4, "note": "moved"}),
]
OWN += [mysql("u", "binlog.000001", 950, {"id": number, "note": "updated"}, binlog_row=number) for number in (0, 1, 1)]
OF_BINLOG = {"binlog_shared": (SHARED, 1), "binlog_own": (OWN, 0)}

# PostgreSQL's and MySQL's orders are in the other modules.
FEEDS = [
    Feed(
        f"{connector}_order",
        {"_id" if connector == "mongodb" else "id": "int", "note": "string"},
        [
            {
                "t+0+0.json": lines(
                    *reversed(ORDERED[connector]), *REJECTED[connector], *([PARTIAL] if connector == "mongodb" else [])
                )
            }
        ],
        key=("_id" if connector == "mongodb" else "id",),
        cdc={"connector": connector},
        models=("log",),
    )
    for connector in ORDERED
] + [
    Feed(
        "by_offset",
        COLUMNS,
        [DELIVERED],
        cdc={"shape": "flattened", "order_by": "offset"},
        models=("log",),
    ),
]
FEEDS += [
    Feed(name, COLUMNS, [{"t+0+0.json": lines(*events)}], cdc={"connector": "mariadb"}, models=("log",))
    for name, (events, _) in OF_BINLOG.items()
]


def in_order(project: Project, feed: str) -> list[Row]:
    return sorted(
        (row for row in project.log(feed) if row["_cdc_kind"] == "change"), key=lambda row: str(row["_cdc_position"])
    )


def note_of(event: Event) -> str:
    image = event["before"] or event["after"]
    return str((json.loads(image) if isinstance(image, str) else image)["note"])


@pytest.mark.parametrize("connector", ORDERED)
def test_events_of_a_key_are_in_the_order_of_their_source(project: Project, connector: str) -> None:
    found = in_order(project, f"{connector}_order")
    assert [row["note"] for row in found] == [note_of(event) for event in ORDERED[connector]]
    assert len({row["_cdc_position"] for row in found}) == len(found)
    assert len({len(row["_cdc_position"]) for row in found}) == 1


@pytest.mark.parametrize("connector", ORDERED)
def test_event_without_its_position_is_rejected(project: Project, connector: str) -> None:
    rejected = [
        row["_cdc_reject_reason"] for row in project.log(f"{connector}_order") if row["_cdc_kind"] == "rejected"
    ]
    expected = ["missing_position"] * len(REJECTED[connector])
    assert rejected == expected + (["partial_document"] if connector == "mongodb" else [])


def test_transaction_of_oracle_is_its_text(project: Project) -> None:
    assert {row["_cdc_transaction_id"] for row in in_order(project, "oracle_order")} == {"6.28.807"}


def test_offset_orders_where_it_is_declared(project: Project) -> None:
    found = in_order(project, "by_offset")
    assert [row["note"] for row in found] == ["099", "100", "101", "101", "102", "102", "103"]
    (rejected,) = [row for row in project.log("by_offset") if row["_cdc_kind"] == "rejected"]
    assert rejected["_cdc_reject_reason"] == "missing_position"


@pytest.mark.parametrize("feed", OF_BINLOG)
def test_position_of_several_changes_is_warned_of(project: Project, feed: str) -> None:
    printed = "".join(run.printed for run in project.outcomes)
    shared = OF_BINLOG[feed][1]
    assert set(re.findall(rf"{feed}: (\d+) binlog positions of the new files", printed)) == (
        {str(shared)} if shared else set()
    )
