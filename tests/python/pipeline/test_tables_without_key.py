"""Tables without a key: as many equal rows as the source has, whatever arrives when and how often."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .events import NOON_MS, Event, lines, postgresql
from .project import Feed, Project

pytestmark = pytest.mark.slow
COLUMNS = {"what": "string", "at": "timestamp", "price": "double"}
MIDNIGHT = "2024-05-01T00:00:00Z"
SAME_MIDNIGHT = "2024-05-01T00:00:00.000000Z"


def row(what: str | None, at: str = MIDNIGHT, price: Any = 0.0) -> Event:
    return {"what": what, "at": at, "price": price}


def event(op: str, lsn: int, what: str | None, *, before: str | None = None, **options: Any) -> Event:
    return postgresql(op, lsn, row(what), before=None if before is None else row(before), **options)


def placed(copied: Event, order: int) -> Event:
    """With transaction metadata."""
    return {**copied, "transaction": {"id": "700:1", "total_order": order, "data_collection_order": order}}


def sent_at(copied: Event, nanosecond: int) -> Event:
    """With the connector's clock."""
    return {**copied, "ts_ns": NOON_MS * 1_000_000 + nanosecond}


SNAPSHOT = [
    sent_at(event("r", 10, "a", snapshot="first"), 1),
    sent_at(event("r", 10, "a", snapshot="true"), 2),
    sent_at(event("r", 10, "b", snapshot="last_in_data_collection"), 3),
]
FIRST = lines(
    *SNAPSHOT,
    event("c", 11, "a"),
    # The same value in another form.
    postgresql("d", 12, row("a", SAME_MIDNIGHT)),
    event("u", 13, "c", before="b"),
    postgresql("u", 14, row("lost")),
    postgresql("u", 15, row("lost"), before={**row("a"), "price": "much"}),
    event("r", 16, "a", snapshot="incremental"),
    # No value at all, and values that are written alike.
    postgresql("c", 17, {"what": None, "at": None, "price": None}),
    postgresql("c", 18, row("zero", "infinity", 0.0)),
    postgresql("c", 19, row("zero", "infinity", -0.0)),
    postgresql("c", 20, row("late", "+10000-01-01T00:00:00.000001Z", "NaN")),
)
FEEDS = [
    Feed(
        "keyless",
        COLUMNS,
        [
            {"t+0+0.json": FIRST},
            # Above all of the first file.
            {
                "t+0+20.json": lines(
                    event("c", 31, "d"),
                    event("c", 32, "d"),
                    event("d", 33, "c"),
                    event("u", 34, "d", before="a"),
                    # Rows of one COPY: two in one file, two by their places in the transaction.
                    event("c", 35, "e"),
                    event("c", 35, "e"),
                    placed(event("c", 36, "f"), 1),
                    placed(event("c", 36, "f"), 2),
                    event("d", 37, "g"),
                    postgresql("d", 38, row("zero", "infinity", -0.0)),
                    # Nothing changes.
                    event("u", 39, "a", before="a"),
                )
            },
            {
                # A copy, one under another name, and what the connector sends again.
                "again/t+0+0.json": FIRST,
                "copy.json": lines(*SNAPSHOT),
                "t+1+0.json": lines(
                    event("c", 31, "d"),
                    event("d", 33, "c", commit=20),
                    event("u", 34, "d", before="a"),
                    placed(event("c", 36, "f"), 2),
                    # The create of what was deleted in the file before.
                    event("c", 29, "g"),
                ),
            },
        ],
        (),
        cdc={"replica_identity": "full"},
        models=("log", "state", "hard", "living"),
        recorded=True,
    ),
]


def counts(project: Project, after_round: int, role: str = "state") -> dict[str, int]:
    """Rows by hash of the image, which a hard delete keeps; named by the values that the soft state has."""
    names = {r["_cdc_row_hash"]: f"{r['what']} {r['price']}" for r in project.state("keyless", after_round)}
    rows = project.state("keyless", after_round, role)
    assert len(rows) == len({r["_cdc_row_hash"] for r in rows})
    assert all(r["_is_deleted"] == (r["_cdc_row_count"] <= 0) for r in rows)
    return {names[r["_cdc_row_hash"]].removesuffix(" 0.0"): r["_cdc_row_count"] for r in rows}


ODD = {"None None": 1, "zero": 1, "late nan": 1}
AFTER = [
    {"a": 2, "b": 0, "c": 1, "zero -0.0": 1} | ODD,
    {"a": 1, "b": 0, "c": 0, "d": 3, "e": 2, "f": 2, "g": -1, "zero -0.0": 0} | ODD,
    {"a": 1, "b": 0, "c": 0, "d": 3, "e": 2, "f": 2, "g": 0, "zero -0.0": 0} | ODD,
]


def test_rows_are_counted_in_any_order_and_each_event_once(project: Project) -> None:
    for after_round, expected in enumerate(AFTER):
        for role in ("state", "hard"):
            assert counts(project, after_round, role) == expected, (after_round, role)


def test_living_rows_are_repeated(project: Project) -> None:
    living = project.living("keyless")
    found = Counter(f"{r['what']} {r['price']}".removesuffix(" 0.0") for r in living)
    assert found == Counter({name: count for name, count in AFTER[-1].items() if count})
    assert len({(r["_cdc_row_hash"], r["_cdc_row_number"]) for r in living}) == len(living)


def test_hard_delete_leaves_no_value(project: Project) -> None:
    for after_round in range(3):
        for r in project.state("keyless", after_round, "hard"):
            assert r["_cdc_row_count"] > 0 or [r["what"], r["at"], r["price"]] == [None] * 3
            assert r["_cdc_row_count"] <= 0 or r["at"] is not None or r["what"] is None


def test_newer_events_are_added_and_the_log_is_counted_for_others(project: Project) -> None:
    said = ["pipe.keyless: an event came late" in outcome.printed for outcome in project.outcomes[:3]]
    assert said == [False, False, True]


def test_what_cannot_be_decided_is_named(project: Project) -> None:
    ambiguous = [
        {r["what"] for r in project.state("keyless", after_round) if r["_cdc_ambiguous_events"]}
        for after_round in range(3)
    ]
    assert ambiguous == [set(), {"e"}, {"d", "e"}]
    warned = "1 row images were deleted more often than they came, 1 have events that may be one row or two"
    assert warned in project.outcomes[1].printed


def test_update_without_a_whole_image_before_is_rejected(project: Project) -> None:
    rejected = {
        (r["_cdc_line"], r["_cdc_reject_reason"], r["_cdc_reject_detail"])
        for r in project.log("keyless")
        if r["_cdc_kind"] == "rejected"
    }
    assert rejected == {
        (7, "missing_before", "no image before"),
        (8, "type_misfit", "price"),
        (9, "incremental_snapshot", None),
    }


def test_image_before_is_in_the_log(project: Project) -> None:
    updates = {
        r["_cdc_line"]: (r["_cdc_before__what"], r["what"])
        for r in project.log("keyless", after_round=0)
        if r["_cdc_has_image_before"] and r["_cdc_kind"] == "change"
    }
    assert updates == {6: ("b", "c")}
    assert [r["_cdc_line"] for r in project.log("keyless", after_round=0)] == list(range(1, 14))
