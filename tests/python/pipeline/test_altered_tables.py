"""Tables whose replica identity or types change in mid-stream, and a declaration that follows, or does not."""

from __future__ import annotations

import pytest

from .events import Event, flattened, lines, mysql, postgresql
from .project import Feed, Project

MARK = "__debezium_unavailable_value"
COLUMNS = {"id": "int", "body": "string", "rev": "int"}
SAID = "replica_identity is declared otherwise than when files were read that the log has"


def row(key: int, body: str, rev: int) -> Event:
    return {"id": key, "body": body, "rev": rev}


FEEDS = [
    # REPLICA IDENTITY DEFAULT: the update leaves the long value out. Then FULL, without a new snapshot of row 1.
    Feed(
        "altered",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    postgresql("c", 10, row(1, "long", 1)),
                    postgresql("u", 20, row(1, MARK, 2)),
                    postgresql("c", 25, row(3, "long, too", 1)),
                    postgresql("u", 26, row(3, MARK, 2)),
                )
            },
            {
                "t+0+4.json": lines(
                    postgresql("c", 30, row(2, "other", 1)),
                    postgresql("u", 40, row(3, "long, too", 3), before=row(3, "long, too", 2)),
                )
            },
        ],
        models=("log", "state", "living", "history"),
        slow=True,
        before={1: lambda project: project.redeclare("altered", COLUMNS, replica_identity="full")},
    ),
    # Declared FULL by mistake, then as it is.
    Feed(
        "taken_back",
        COLUMNS,
        [
            {"t+0+0.json": lines(flattened("c", 10, row(1, "long", 1)), flattened("u", 20, row(1, MARK, 2)))},
            {"t+0+2.json": lines(flattened("c", 30, row(2, "other", 1)))},
        ],
        cdc={"shape": "flattened", "replica_identity": "full"},
        slow=True,
        before={1: lambda project: project.redeclare("taken_back", COLUMNS, replica_identity="default")},
    ),
    # ALTER TABLE ... MODIFY: MicroTimestamp and double from the second line on, and no schema in a line.
    Feed(
        "widened",
        {
            "id": "int",
            "at": ("timestamp_ntz", {"semantic_type": "io.debezium.time.Timestamp"}),
            "amount": "float",
        },
        [
            {
                "t+0+0.json": lines(
                    mysql("c", "bin.000001", 10, {"id": 1, "at": 1_714_564_800_123, "amount": 0.1}),
                    mysql("c", "bin.000001", 20, {"id": 2, "at": 1_714_564_800_123_456, "amount": 0.1}),
                    mysql("c", "bin.000001", 30, {"id": 3, "at": None, "amount": 123456789.25}),
                    mysql("c", "bin.000001", 40, {"id": 4, "at": 253_402_300_799_999, "amount": 0.10000000149011612}),
                    mysql("c", "bin.000001", 50, {"id": 5, "at": 0, "amount": 16777217000}),
                )
            }
        ],
        cdc={"connector": "mysql"},
        models=("log", "quarantine", "state", "living"),
    ),
]


@pytest.mark.slow
def test_value_from_before_the_table_was_altered_is_held(project: Project) -> None:
    before = {found["id"]: (found["body"], found["rev"]) for found in project.current_rows("altered", 0)}
    assert before == {1: ("long", 2), 3: ("long, too", 2)}
    now = {found["id"]: (found["body"], found["_cdc_unresolved_columns"]) for found in project.living("altered")}
    assert now == {1: ("long", None), 2: ("other", None), 3: ("long, too", None)}


@pytest.mark.slow
def test_history_holds_it_too(project: Project) -> None:
    found = [(one["body"], one["rev"], one["_cdc_unresolved_columns"]) for one in project.history("altered")]
    assert sorted(found) == [
        ("long", 1, None),
        ("long", 2, None),
        ("long, too", 1, None),
        ("long, too", 2, None),
        ("long, too", 3, None),
        ("other", 1, None),
    ]


@pytest.mark.slow
def test_log_that_was_decoded_with_another_replica_identity_is_warned_of(project: Project) -> None:
    assert f"altered: {SAID}" in project.outcomes[1].printed
    assert f"taken_back: {SAID}" in project.outcomes[1].printed
    assert SAID not in project.outcomes[0].printed


def test_values_of_a_wider_type_are_rejected(project: Project) -> None:
    rows = {found["id"]: (found["at"], found["amount"]) for found in project.living("widened")}
    assert rows == {
        1: ("2024-05-01 12:00:00.123", 0.10000000149011612),
        4: ("9999-12-31 23:59:59.999", 0.10000000149011612),
        5: ("1970-01-01 00:00:00", 16777217024.0),
    }
    rejected = {(one["_cdc_reject_reason"], one["_cdc_reject_detail"]) for one in project.quarantine("widened")}
    assert rejected == {("type_misfit", "at"), ("type_misfit", "amount")}
