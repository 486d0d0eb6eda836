"""Bare rows with AUTO CDC's clauses: upserts, deletes, truncates, NULLs and ties, in any order of arrival."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

import pytest
from render.harness import Renderer, relation

from .events import Event, Number, lines, text
from .project import Feed, Project, Row

NOON = "2024-05-01T12:00:00"


def at(second: int, zone: str = "Z") -> str:
    """A time of the afternoon of 2024-05-01."""
    return f"2024-05-01T12:{second // 60:02}:{second % 60:02}{zone}"


def event(scenario: str, sequence: int | None, status: str | None, operation: str = "UPDATE", **more: Any) -> Event:
    """A row of the feed that is ordered by a number.

    Args:
        scenario: part of the key.
        sequence: what orders the rows.
        status: its value.
        operation: INSERT, UPDATE, DELETE or TRUNCATE.
        more: other columns.
    """
    return {
        "scenario": scenario,
        "id": 42,
        "status": status,
        "email": "x@example.com",
        "source_sequence": sequence,
        "operation": operation,
    } | more


# The cases of the torture test that a current table can show: events of the first run, those of the second, and the
# rows that are alive after it (status, email).
TORTURE: dict[str, tuple[list[Event], list[Event], list[tuple[str | None, str | None]]]] = {
    "1A": ([event("1A", 10, "ACTIVE")], [], [("ACTIVE", "x@example.com")]),
    "1B": ([event("1B", 10, "ACTIVE")], [event("1B", 10, "ACTIVE")], [("ACTIVE", "x@example.com")]),
    "2A": ([event("2A", 12, "ACTIVE")], [event("2A", 10, "PENDING")], [("ACTIVE", "x@example.com")]),
    "3A": ([event("3A", 10, "ACTIVE"), event("3A", 10, "SUSPENDED")], [], [("SUSPENDED", "x@example.com")]),
    "3B": ([event("3B", 10, "ACTIVE"), event("3B", 10, "SUSPENDED")], [], [("SUSPENDED", "x@example.com")]),
    "5A": ([event("5A", 10, "ACTIVE"), event("5A", 20, "ACTIVE", email=None)], [], [("ACTIVE", None)]),
    "6A": (
        [event("6A", 17, "ACTIVE"), event("6A", 20, None, "DELETE", email=None)],
        [event("6A", 18, "SUSPENDED")],
        [],
    ),
    "7A": (
        [
            event("7A", 10, "PENDING", "INSERT"),
            *(event("7A", 10 * step, "ACTIVE") for step in (2, 3, 4)),
            event("7A", 50, None, "DELETE", email=None),
        ],
        [
            event("7A", 10, "PENDING", "INSERT"),
            *(event("7A", 10 * step, "ACTIVE") for step in (2, 3, 4)),
            event("7A", 50, None, "DELETE", email=None),
        ],
        [],
    ),
}
TRUNCATED_AT = -100
# Keys of the feed that the truncate, whose row comes late, ends or leaves: sequence -> alive after it.
AROUND_THE_TRUNCATE = {-(2**63): False, -1000: False, -101: False, -99: True, 0: True, 2**63 - 1: True}
# Orders of three events of one key that arrive in two runs.
ARRIVALS = list(product(permutations(range(3)), range(4)))
# (operation, email) of three events in their order, and (email, deleted) after them.
SENT: dict[str, tuple[list[tuple[str, str | None]], tuple[str | None, bool]]] = {
    "unchanged by NULLs": ([("I", "a"), ("U", None), ("U", None)], ("a", False)),
    "sent again": ([("I", "a"), ("U", "b"), ("U", None)], ("b", False)),
    "not sent at first": ([("I", None), ("U", "a"), ("U", None)], ("a", False)),
    "never sent": ([("I", None), ("U", None), ("U", None)], (None, False)),
    "ended by a delete": ([("I", "a"), ("D", None), ("U", None)], (None, False)),
    "deleted": ([("I", "a"), ("U", None), ("D", None)], ("a", True)),
    "sent last": ([("I", "a"), ("U", None), ("U", "c")], ("c", False)),
}
ROWS_SHAPE = {"connector": "table", "shape": "row"}


# Numbers of rows with columns `schema` and `payload` of JSON: id -> what is sent of them, and (amount, whole, fine).
NUMBERS: dict[int, tuple[Event, tuple[str | None, str | None, str | None]]] = {
    44: ({"amount": 1.5, "payload": {"amount": 99.25}}, ("1.50", None, None)),
    45: ({"amount": None, "payload": {"amount": 7}}, (None, None, None)),
    46: ({"payload": {"amount": 7, "whole": 8}}, (None, None, None)),
    47: ({"amount": 1.5, "schema": {"type": "order"}, "payload": {"id": 777, "amount": 3}}, ("1.50", None, None)),
    48: (
        {"whole": Number("9" * 38), "fine": Number("-1234567890123456789012345678.1234567890")},
        (None, "9" * 38, "-1234567890123456789012345678.1234567890"),
    ),
    49: ({"amount": Number("15E-1"), "whole": Number("1E2"), "fine": "0.1"}, ("1.50", "100", "0.1000000000")),
    50: (
        {"amount": 1.5, "payload": 'a 1.25, "2.5": \\" 3', "schema": "\\"},
        ("1.50", None, None),
    ),
    51: ({"amount": Number('1.5,"amount":2.5')}, ("1.50", None, None)),
    52: (
        {"amount": Number('1.10,"status":"NaN"'), "whole": Number("9007199254740993.0")},
        ("1.10", "9007199254740993", None),
    ),
}
# Numbers that a column cannot keep: column, number.
ROUNDED: dict[str, tuple[str, Any]] = {
    "half": ("whole", 1.5),
    "half of text": ("whole", "1.5"),
    "less than half": ("whole", 0.4),
    "behind all digits": ("whole", Number("9" * 38 + ".4")),
    "39 digits": ("whole", Number("1" + "0" * 38)),
    "fraction of 11 digits": ("fine", Number("1.23456789012")),
    "digits that no double has": ("fine", Number("1234567890123456789012345678.12345678901")),
    "next to nothing": ("amount", Number("1e-31")),
}


def sequences() -> list[dict[str, bytes]]:
    first = [event for events, _, _ in TORTURE.values() for event in events]
    late = [event for _, events, _ in TORTURE.values() for event in events]
    first += [event(f"around {sequence}", sequence, "ACTIVE") for sequence in AROUND_THE_TRUNCATE]
    late += [event("truncate", TRUNCATED_AT, None, "TRUNCATE", id=None)]
    first += [
        event(
            "types",
            1,
            "ACTIVE",
            amount=Number("12345678901234567.89"),
            local="2024-03-10 02:30:00.000001",
            day="2024-02-29",
        )
    ]
    first += [
        event(
            "types", 2, "ACTIVE", id=43, amount="0.10", local="2024-03-10T02:30:00", zoned="2024-05-01 12:00:00+02:00"
        )
    ]
    first += [event("numbers", 1, "ACTIVE", id=key, **sent) for key, (sent, _) in NUMBERS.items()]
    rejected = [
        *(event(name, 1, "ACTIVE", **{column: number}) for name, (column, number) in ROUNDED.items()),
        event("no sequence", None, "ACTIVE"),
        event("no key", 1, "ACTIVE", id=None),
        event("no column", 1, "ACTIVE", colour="red"),
        event("no zone", 1, "ACTIVE", zoned="2024-05-01 12:00:00"),
    ]
    one, other = event("tie", 1, "one"), event("tie", 1, "other")
    return [
        {"LOAD1.json": lines(*first, *rejected, one, other | {"id": 43})},
        {"LOAD2.json": lines(*late, other, one | {"id": 43})},
    ]


def sparse() -> list[dict[str, bytes]]:
    arriving: list[list[Event]] = [[], []]
    for history, (events, _) in SENT.items():
        for key, (order, first_count) in enumerate(ARRIVALS):
            for place, number in enumerate(order):
                operation, email = events[number]
                arriving[place >= first_count].append(
                    {
                        "history": history,
                        "id": key,
                        "Op": operation,
                        "email": email,
                        "city": f"city {number}",
                        "changed_at": at(number // 2, ""),
                        "change": number % 2,
                    }
                )
    base = {"Op": "U", "email": "x@example.com", "changed_at": at(0, ""), "city": "ACTIVE", "change": 1}
    arriving[0] += [
        base | {"history": "3C", "id": 42},
        base | {"history": "3C", "id": 42, "city": "SUSPENDED", "change": 2},
        base | {"history": "4B", "id": 42, "city": "SUSPENDED", "changed_at": at(300, "")},
        base | {"history": "4B", "id": 42, "city": "ACTIVE"},
        base | {"history": "5B", "id": 42},
        base | {"history": "5B", "id": 42, "city": "Istanbul", "email": None, "changed_at": at(60, "")},
    ]
    return [
        {"part-1.json": lines(*arriving[0])},
        # All that has come, again.
        {"part-2.json": lines(*arriving[1]), "part-1-again.json": lines(*arriving[0])},
    ]


FEEDS = [
    Feed(
        "rows_by_sequence",
        {
            "scenario": "string",
            "id": "int",
            "status": "string",
            "email": "string",
            "source_sequence": "bigint",
            "operation": "string",
            "amount": "decimal(19,2)",
            "whole": "decimal(38,0)",
            "fine": "decimal(38,10)",
            "payload": "string",
            "schema": "string",
            "day": "date",
            "local": "timestamp_ntz",
            "zoned": "timestamp",
        },
        sequences(),
        key=("scenario", "id"),
        cdc={
            **ROWS_SHAPE,
            "sequence_by": "source_sequence",
            "apply_as_deletes": "operation = 'DELETE'",
            "apply_as_truncates": "operation = 'TRUNCATE'",
            "except_column_list": ["operation"],
        },
        models=("log", "state"),
    ),
    Feed(
        "rows_of_two_columns",
        {
            "history": "string",
            "id": "int",
            "Op": "string",
            "email": "string",
            "city": "string",
            "changed_at": "timestamp_ntz",
            "change": "int",
        },
        sparse(),
        cdc={
            **ROWS_SHAPE,
            "key": None,
            "keys": ["history", "id"],
            "order_by": ["changed_at", "change"],
            "apply_as_deletes": "Op = 'D'",
            "ignore_null_updates": True,
            "column_list": ["history", "id", "email", "city"],
        },
        models=("log", "state"),
        slow=True,
    ),
]


def rows_of(project: Project, feed: str, scenario: str, column: str = "scenario") -> list[Row]:
    return [row for row in project.state(feed) if row[column] == scenario]


@pytest.mark.parametrize("case", TORTURE)
def test_case_of_the_torture_test(project: Project, case: str) -> None:
    living = [row for row in rows_of(project, "rows_by_sequence", case) if not row["_is_deleted"]]
    assert [(row["status"], row["email"]) for row in living] == TORTURE[case][2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "city", "email"),
    [("3C", "SUSPENDED", "x@example.com"), ("4B", "SUSPENDED", "x@example.com"), ("5B", "Istanbul", "x@example.com")],
)
def test_case_of_the_torture_test_by_two_columns(project: Project, case: str, city: str, email: str) -> None:
    (found,) = rows_of(project, "rows_of_two_columns", case, "history")
    assert (found["city"], found["email"], found["_is_deleted"]) == (city, email, False)


@pytest.mark.slow
@pytest.mark.parametrize("history", SENT)
def test_ignored_null_leaves_the_value_in_any_order_of_arrival(project: Project, history: str) -> None:
    events, (email, is_deleted) = SENT[history]
    last = max(number for number, (operation, _) in enumerate(events) if operation != "D")
    found = rows_of(project, "rows_of_two_columns", history, "history")
    assert len(found) == len(ARRIVALS)
    for row in found:
        shown = (row["email"], row["_is_deleted"], row["city"], row["_cdc_unresolved_columns"])
        assert shown == (email, is_deleted, f"city {last}", None), ARRIVALS[row["id"]]


def test_truncate_that_comes_late_ends_what_lies_below_it(project: Project) -> None:
    for sequence, is_alive in AROUND_THE_TRUNCATE.items():
        (before,) = [
            row for row in project.state("rows_by_sequence", after_round=0) if row["scenario"] == f"around {sequence}"
        ]
        (after,) = rows_of(project, "rows_by_sequence", f"around {sequence}")
        assert (before["_is_deleted"], after["_is_deleted"]) == (False, not is_alive), sequence


def test_tie_is_broken_by_the_delivery_whatever_came_first(project: Project) -> None:
    winners = {row["id"]: row["_cdc_file_path"].rsplit("/")[-1] for row in rows_of(project, "rows_by_sequence", "tie")}
    assert winners.keys() == {42, 43}
    assert winners[42] == winners[43]


def test_ties_of_rows_that_differ_are_found(project: Project) -> None:
    feed = project.feeds["rows_by_sequence"]
    columns = [{"name": name, "data_type": "string"} for name in feed.columns if name != "operation"]
    log = relation(feed.nodes["log"], "pipe_silver")
    sql = Renderer().render("_tied_rows_sql", log, {"key": feed.key, "columns": columns})
    found = {(row.scenario, row.id, row.row_count) for row in project.spark.sql(str(sql)).collect()}
    assert found == {("3A", 42, 2), ("3B", 42, 2), ("tie", 42, 2), ("tie", 43, 2)}


def test_row_without_a_sequence_or_a_key_is_rejected(project: Project) -> None:
    rejected = {
        json.loads(row["_cdc_raw"])["scenario"]: (row["_cdc_reject_reason"], row["_cdc_reject_detail"])
        for row in project.log("rows_by_sequence")
        if row["_cdc_kind"] == "rejected"
    }
    assert rejected == {name: ("type_misfit", column) for name, (column, _) in ROUNDED.items()} | {
        "no sequence": ("missing_position", None),
        "no key": ("missing_key", "id"),
        "no column": ("unknown_column", "colour"),
        "no zone": ("type_misfit", "zoned"),
    }


def test_log_has_the_operations_and_the_listed_columns(project: Project) -> None:
    logged = project.log("rows_by_sequence")
    assert "operation" not in logged[0]
    assert {(row["_cdc_kind"], row["_cdc_op"]) for row in logged if row["_cdc_kind"] != "rejected"} == {
        ("change", "u"),
        ("change", "d"),
        ("truncate", "t"),
    }


@pytest.mark.slow
def test_log_has_the_time_of_the_order(project: Project) -> None:
    by_time = project.log("rows_of_two_columns")
    assert not {"Op", "changed_at", "change"} & by_time[0].keys()
    assert {row["_cdc_source_ts"][:17] for row in by_time} == {
        "2024-05-01 12:00:",
        "2024-05-01 12:05:",
        "2024-05-01 12:01:",
    }


def test_values_are_plain_numbers_and_iso_times(project: Project) -> None:
    found = {row["id"]: row for row in rows_of(project, "rows_by_sequence", "types")}
    assert str(found[42]["amount"]) == "12345678901234567.89"
    assert (found[42]["local"], found[42]["day"]) == ("2024-03-10 02:30:00.000001", "2024-02-29")
    assert str(found[43]["amount"]) == "0.10"
    assert (found[43]["local"], found[43]["zoned"]) == ("2024-03-10 02:30:00", "2024-05-01 10:00:00")


@pytest.mark.parametrize("key", NUMBERS)
def test_number_is_the_one_of_its_column_digit_by_digit(project: Project, key: int) -> None:
    (row,) = [row for row in rows_of(project, "rows_by_sequence", "numbers") if row["id"] == key]
    found = tuple(None if row[name] is None else format(row[name], "f") for name in ("amount", "whole", "fine"))
    assert found == NUMBERS[key][1]
    for name in ("schema", "payload"):
        sent = NUMBERS[key][0].get(name)
        assert row[name] == (text(sent) if isinstance(sent, dict) else sent)


SORTED: dict[str, list[str]] = {
    "tinyint": ["-128", "-100", "-99", "-1", "0", "1", "9", "10", "127"],
    "bigint": ["-9223372036854775808", "-1000", "-999", "-1", "0", "5", "10", "9223372036854775807"],
    "decimal(20,10)": ["-12.5", "-12.4999999999", "-0.0000000001", "0", "0.0000000001", "0.1", "9", "10", "10.5"],
    "decimal(37,0)": ["-" + "9" * 37, "-" + "9" * 36 + "8", "-1", "0", "1", "9" * 37],
    "date": ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"],
    "timestamp": [
        "1883-01-01 00:00:00Z",
        "1969-12-31 23:59:59.999999Z",
        "1970-01-01 00:00:00Z",
        "2024-05-01 12:00:00Z",
    ],
    # The second of them is not there in New York, and one hour later by its clocks.
    "timestamp_ntz": [
        "0001-01-01 00:00:00",
        "2024-03-10 02:59:59",
        "2024-03-10 03:00:00",
        "2024-11-03 01:30:00.000001",
        "9999-12-31 23:59:59.999999",
        "+294247-01-10 04:00:25.2",
    ],
    "string": ["", "A", "A.", "AB", "Ab", "a", "a\u0301", "é", "\U0001f600"],
}


@pytest.mark.parametrize("data_type", SORTED)
def test_text_of_a_sequence_sorts_as_its_values_do(project: Project, data_type: str) -> None:
    """Ended by the dot of the next part, whatever the session's time zone is."""
    sortable = Renderer().render("_sortable_text", {"name": "x", "data_type": data_type, "cdc": {}}, "value")
    rows = ", ".join(f"({number}, '{value}')" for number, value in enumerate(SORTED[data_type]))
    for zone in ("America/New_York", "UTC"):
        project.spark.conf.set("spark.sql.session.timeZone", zone)
        found = project.spark.sql(
            f"select number, concat({sortable}, '.1') as text"
            f" from (select number, cast(value as {data_type}) as value from values {rows} as given (number, value))"
        ).collect()
        assert all(row.text for row in found)
        assert [row.number for row in sorted(found, key=lambda row: row.text.encode())] == list(range(len(found)))
