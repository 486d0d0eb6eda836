"""Records of every shape that shares a topic are told apart, and only row changes change rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from render.harness import Renderer

from .events import (
    HEARTBEAT,
    MESSAGE,
    SCHEMA_CHANGE,
    TRANSACTION,
    flattened,
    lines,
    postgresql,
    stored,
    with_schema,
    zipped,
)
from .project import Feed, Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"id": "int32", "born": {"type": "int32", "name": "io.debezium.time.Date", "version": 1}, "name": "string"}
COLUMNS = {"id": "int", "born": "date", "name": "string"}


def thing(number: int, name: str | None = "n") -> dict[str, Any]:
    return {"id": number, "born": 1, "name": name}


# What a topic holds beside row changes, bare and (for those that sinks write with one) with a schema.
CONTROL = [
    HEARTBEAT,
    with_schema(HEARTBEAT, {"ts_ms": "int64"}),
    TRANSACTION,
    with_schema(TRANSACTION, {"status": "string", "id": "string"}),
    SCHEMA_CHANGE,
    with_schema(SCHEMA_CHANGE, {"ddl": "string", "databaseName": "string"}),
    MESSAGE,
    None,
    b"",
    b"  \t",
    b"\r",
    " null ",
]
CONTROL_KINDS = {"heartbeat": 2, "transaction": 2, "schema_change": 2, "message": 1, "tombstone": 2, "blank": 3}

FEEDS = [
    Feed(
        "envelopes",
        COLUMNS,
        [
            {
                "bare+0+0.json": lines(*(postgresql("c", 100 + n, thing(n)) for n in (1, 2))),
                "schema+0+2.json": lines(*(with_schema(postgresql("c", 100 + n, thing(n)), TYPES) for n in (3, 4))),
                "both+0+4.json.gz": zipped(
                    lines(
                        with_schema(postgresql("u", 105, thing(1, "new"), before=thing(1)), TYPES),
                        postgresql("u", 106, thing(2, "new"), before=thing(2)),
                        with_schema(postgresql("d", 107, thing(3)), TYPES),
                        None,
                    )
                ),
                "control+0+8.json": lines(*CONTROL),
                "truncate+0+30.json": lines(postgresql("t", 90)),
            }
        ],
        models=("log", "state", "living"),
        tests=True,
    ),
    Feed(
        "flat",
        COLUMNS,
        [
            {
                "bare+0+0.json": lines(*(flattened("c", 100 + n, thing(n)) for n in (1, 2))),
                "schema+0+2.json": lines(*(with_schema(flattened("c", 100 + n, thing(n)), TYPES) for n in (3, 4))),
                "both+0+4.json.gz": zipped(
                    lines(
                        with_schema(flattened("u", 105, thing(1, "new")), TYPES),
                        flattened("u", 106, thing(2, "new")),
                        with_schema(flattened("d", 107, thing(3)), TYPES),
                        None,
                    )
                ),
                "control+0+8.json": lines(*CONTROL),
            }
        ],
        cdc={"shape": "flattened"},
        models=("log", "state", "living"),
        tests=True,
    ),
    # ExtractNewRecordState was set in the middle of the topic.
    Feed(
        "later_flat",
        COLUMNS,
        [
            {
                "bare+0+0.json": lines(*(postgresql("r", 100, thing(n), snapshot="true") for n in (1, 2))),
                "schema+0+2.json": lines(*(with_schema(postgresql("c", 100 + n, thing(n)), TYPES) for n in (3, 4))),
                "both+0+4.json.gz": zipped(
                    lines(
                        with_schema(postgresql("u", 105, thing(1, "old")), TYPES),
                        postgresql("d", 106, {"id": 3, "born": None, "name": None}),
                    )
                ),
            },
            {
                "flat+0+7.json": lines(
                    with_schema(flattened("u", 205, thing(1, "new")), TYPES),
                    flattened("u", 206, thing(2, "new")),
                    # The envelope of a table's row that came late, and one that was there before it.
                    postgresql("u", 107, thing(2, "late")),
                    flattened("d", 108, {"id": 4, "born": None, "name": None}),
                    flattened("c", 209, thing(5)),
                ),
                "control+0+20.json": lines(*CONTROL),
                "truncate+0+35.json": lines(postgresql("t", 90)),
                "neither+0+36.json": lines({**postgresql("u", 300, thing(1)), "more": 1}),
            },
        ],
        cdc={"shape": "flattened", "reads_envelopes": True},
        models=("log", "state", "living"),
    ),
    Feed(
        "stored_kinds",
        COLUMNS,
        [
            {
                "t(0_9).json": lines(
                    stored(postgresql("c", 101, thing(1)), 0),
                    stored(with_schema(postgresql("c", 102, thing(2)), TYPES), 1),
                    stored(postgresql("d", 103, thing(2)), 2),
                    stored(None, 3),
                    stored(HEARTBEAT, 4),
                    stored(TRANSACTION, 5),
                    stored(SCHEMA_CHANGE, 6),
                    stored(MESSAGE, 7),
                    None,
                    b"",
                    stored({"neither": "fish"}, 8),
                )
            }
        ],
        cdc={"layout": "lenses", "store_envelope": True},
        models=("log", "state", "living"),
        slow=True,
    ),
]


def kinds(project: Project, feed: str) -> dict[str, int]:
    return dict(Counter(row["_cdc_kind"] for row in project.log(feed)))


@pytest.mark.parametrize("feed", ["envelopes", "flat"])
def test_records_with_and_without_schema_give_the_same_rows(project: Project, feed: str) -> None:
    rows = {row["id"]: (row["born"], row["name"]) for row in project.living(feed)}
    assert rows == {1: ("1970-01-02", "new"), 2: ("1970-01-02", "new"), 4: ("1970-01-02", "n")}


@pytest.mark.parametrize(("feed", "truncates"), [("envelopes", {"truncate": 1}), ("flat", {})])
def test_each_line_has_the_kind_that_its_shape_tells(project: Project, feed: str, truncates: dict[str, int]) -> None:
    tombstones = {"tombstone": CONTROL_KINDS["tombstone"] + 1}
    assert kinds(project, feed) == CONTROL_KINDS | tombstones | {"change": 7} | truncates


@pytest.mark.parametrize("feed", ["envelopes", "flat"])
def test_ledger_counts_the_control_records(project: Project, feed: str) -> None:
    (row,) = [row for row in project.ledger(feed) if "/control+" in row["file_path"]]
    counts = {name: row[f"{name}_count"] for name in ("line", "change", "rejected", "control")}
    assert counts == {"line": len(CONTROL), "change": 0, "rejected": 0, "control": len(CONTROL)}


def test_envelopes_from_before_a_topic_was_flattened(project: Project) -> None:
    rows = {row["id"]: (row["born"], row["name"]) for row in project.living("later_flat")}
    assert rows == {1: ("1970-01-02", "new"), 2: ("1970-01-02", "new"), 5: ("1970-01-02", "n")}
    assert kinds(project, "later_flat") == CONTROL_KINDS | {"change": 11, "truncate": 1, "rejected": 1}


def test_envelopes_of_a_flattened_feed_say_what_others_do(project: Project) -> None:
    said = {
        feed: {
            (row["id"], row["_cdc_source_ts"], row["_cdc_transaction_id"], row["_cdc_snapshot"])
            for row in project.log(feed)
            if row["_cdc_op"] == "c" and row["id"] in (3, 4)
        }
        for feed in ("envelopes", "later_flat")
    }
    assert said["later_flat"] == said["envelopes"]
    assert {row["_cdc_snapshot"] for row in project.log("later_flat") if row["_cdc_op"] == "r"} == {"true"}


@pytest.mark.slow
def test_store_envelope_has_the_kinds_inside_it(project: Project) -> None:
    assert kinds(project, "stored_kinds") == {
        "change": 3,
        "tombstone": 2,
        "heartbeat": 1,
        "transaction": 1,
        "schema_change": 1,
        "message": 1,
        "blank": 1,
        "rejected": 1,
    }
    assert [row["id"] for row in project.living("stored_kinds")] == [1]


@pytest.mark.parametrize("feed", ["envelopes", "flat", pytest.param("stored_kinds", marks=pytest.mark.slow)])
def test_no_control_record_becomes_a_row(project: Project, feed: str) -> None:
    changes = {row["id"] for row in project.log(feed) if row["_cdc_kind"] == "change"}
    assert {row["id"] for row in project.state(feed)} == changes
    others = [row for row in project.log(feed) if row["_cdc_kind"] not in ("change", "rejected")]
    assert {row["id"] for row in others} == {None}


def test_change_log_has_op_and_source_time(project: Project) -> None:
    found = {row["_cdc_op"] for row in project.log("envelopes")}
    assert found == {"c", "u", "d", "t", "m", None}
    (row,) = [row for row in project.log("envelopes") if row["id"] == 4]
    assert (row["_cdc_source_ts"], row["_cdc_transaction_id"]) == ("2024-05-01 12:00:00.104", "103")


@pytest.mark.parametrize(("begin", "letter", "length", "end"), [('"', "x", 20_000_001, '"'), ("", "1", 1_001, "")])
def test_texts_and_numbers_of_any_length_are_read(
    spark: SparkSession, begin: str, letter: str, length: int, end: str
) -> None:
    record = f"concat('{{\"a\":{begin}', repeat('{letter}', {length}), '{end}}}')"
    read = f"from_json({record}, 'map<string,string>', {Renderer().render('_json_options')})['a']"
    assert spark.sql(f"select length({read})").collect()[0][0] == length
