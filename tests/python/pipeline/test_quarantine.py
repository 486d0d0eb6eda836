"""What cannot be decided is one rejected row each, with reason, text and place; everything else arrives."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pytest

from .events import (
    HEARTBEAT,
    MESSAGE,
    SCHEMA_CHANGE,
    TRANSACTION,
    Line,
    Number,
    avro,
    encoded,
    flattened,
    lines,
    mysql,
    postgresql,
    text,
    unscaled,
    zipped,
)
from .project import Feed, Project

COLUMNS: dict[str, Any] = {
    "id": "int",
    "other": ("int", {"nullable": True}),
    "amount": "decimal(6,2)",
    "size": "smallint",
    "flag": "boolean",
    "day": "date",
    "at": "timestamp_ntz",
    "since": "timestamp",
    "raw": "binary",
    "list": "array<int>",
    "moments": "array<timestamp_ntz>",
    "singles": "array<float>",
    "nested": "array<array<int>>",
    "wide": ("decimal(38,10)", {"semantic_type": "decimal"}),
    "prices": ("array<decimal(6,2)>", {"semantic_type": "decimal"}),
    "mask": ("bigint", {"semantic_type": "io.debezium.data.Bits"}),
    "small_mask": ("tinyint", {"semantic_type": "io.debezium.data.Bits"}),
    "iso": ("timestamp_ntz", {"semantic_type": "io.debezium.time.IsoTimestamp"}),
    "iso_day": ("date", {"semantic_type": "io.debezium.time.IsoDate"}),
    "single": "float",
    "twice": "double",
    "nano": ("timestamp_ntz", {"semantic_type": "io.debezium.time.NanoTimestamp"}),
    "variable": ("decimal(6,2)", {"semantic_type": "io.debezium.data.VariableScaleDecimal"}),
    "whole": ("decimal(6,2)", {"semantic_type": "decimal"}),
    "inside": "struct<total: decimal(6,2), since: timestamp, day: date, at: timestamp_ntz, "
    "`a-b`: struct<x:double, y:float>, "
    "items: array<struct<sku:string,quantity:int>>, days: array<date>, counts: map<string, struct<n:int>>>",
    "counts": "map<string,int>",
}
INSIDE: dict[str, Any] = {
    "total": 12.5,
    "since": "2024-05-01T12:00:00+02:00",
    "day": "2024-05-01",
    "at": "2024-05-01T12:00:00.000001",
    "a-b": {"x": 0.1, "y": 0.5},
    "items": [{"sku": "a", "quantity": 1}, None, {"sku": "b", "quantity": None}, {}],
    "days": ["2024-02-29", None],
    "counts": {"a": {"n": 1}, "b": None},
}


def row(number: int, **values: Any) -> dict[str, Any]:
    return {"id": number, "other": None, **values}


def created(number: int, **values: Any) -> dict[str, Any]:
    return postgresql("c", 1000 + number, row(number, **values))


# name -> line, reason, detail (None: any). Each lies between two good lines.
BAD: dict[str, tuple[Line, str, str | None]] = {
    "malformed": ('{"op": "c", ', "malformed_json", None),
    "not json": ("what is this", "malformed_json", None),
    "two objects": (text(created(7)) + text(created(8)), "malformed_json", None),
    "two objects and a comma": (text(created(7)) + "," + text(created(8)), "malformed_json", None),
    "trailing text": (text(created(7)) + " x", "malformed_json", None),
    "array": ("[" + text(created(7)) + "]", "malformed_json", None),
    "number": ("42", "malformed_json", None),
    "string": ('"text"', "malformed_json", None),
    "invalid utf8": (text(created(7)).replace('"c"', '"X"').encode().replace(b"X", b"\xff\xfe"), "invalid_utf8", None),
    "empty object": ("{}", "unknown_shape", None),
    "other object": ('{"hello": "world"}', "unknown_shape", None),
    "unknown op": (postgresql("x", 1, row(7)), "unknown_op", "x"),
    "no position": (postgresql("c", None, row(7)), "missing_position", None),
    "truncate without a position": (postgresql("t", None), "missing_position", None),
    "no key": (postgresql("c", 1, {"other": 1}), "missing_key", "id"),
    "null key": (postgresql("c", 1, {"id": None, "other": 1}), "missing_key", "id"),
    "no nullable key": (postgresql("c", 1, {"id": 7}), "missing_key", "other"),
    "no image": (postgresql("c", 1, None), "missing_key", None),
    "delete without image": (postgresql("d", 1, None), "missing_key", None),
    "unknown column": (created(7, shoe=3, hat=None), "unknown_column", "shoe, hat"),
    "key that is no number": (postgresql("c", 1, {"id": "seven", "other": 1}), "type_misfit", "id"),
    "key out of range": (postgresql("c", 1, {"id": 2**31, "other": 1}), "type_misfit", "id"),
    "fraction in an int": (postgresql("c", 1, {"id": 7.5, "other": 1}), "type_misfit", "id"),
    "nullable key out of range": (postgresql("c", 1, {"id": 7, "other": 2**31}), "type_misfit", "other"),
    "decimal of too many digits": (created(7, amount=unscaled(1000000)), "type_misfit", "amount"),
    "decimal beyond 38 digits": (created(7, amount=unscaled(10**39)), "type_misfit", "amount"),
    "decimal that is not base64": (created(7, amount="1.50"), "type_misfit", "amount"),
    "too many fraction digits, variable": (
        created(7, variable={"scale": 3, "value": unscaled(1235)}),
        "type_misfit",
        "variable",
    ),
    "too many fraction digits, text": (created(7, whole="1.235"), "type_misfit", "whole"),
    "decimal that is not a number": (created(7, whole="NaN"), "type_misfit", "whole"),
    "small out of range": (created(7, size=32768), "type_misfit", "size"),
    "small with a fraction": (created(7, size=1.5), "type_misfit", "size"),
    "small of text": (created(7, size=""), "type_misfit", "size"),
    "flag": (created(7, flag="perhaps"), "type_misfit", "flag"),
    "flag of 2": (created(7, flag=2), "type_misfit", "flag"),
    "day": (created(7, day="2024-05-01"), "type_misfit", "day"),
    "day with a fraction": (created(7, day=1.5), "type_misfit", "day"),
    "time": (created(7, at="2024-05-01T00:00:00Z"), "type_misfit", "at"),
    "zoned without zone": (created(7, since="2024-05-01T00:00:00"), "type_misfit", "since"),
    "zoned of a number": (created(7, since=1710037800000000), "type_misfit", "since"),
    "zoned without a date": (created(7, since="T12:30:00Z"), "type_misfit", "since"),
    "zoned to the nanosecond": (created(7, since="2024-05-01T00:00:00.123456789Z"), "type_misfit", "since"),
    "ISO time with an offset": (created(7, iso="2024-05-01T00:00:00+05:00"), "type_misfit", "iso"),
    "half an ISO time": (created(7, iso="2024-05"), "type_misfit", "iso"),
    "half an ISO date": (created(7, iso_day="2024"), "type_misfit", "iso_day"),
    "float out of range": (created(7, single=1e39), "type_misfit", "single"),
    "double out of range": (created(7, twice=Number("1e400")), "type_misfit", "twice"),
    "nanoseconds with a rest": (created(7, nano=1710037800123456789), "type_misfit", "nano"),
    "bytes": (created(7, raw="***"), "type_misfit", "raw"),
    "list": (created(7, list=[1, "two"]), "type_misfit", "list"),
    "list with a fraction": (created(7, list=[1, 2.5]), "type_misfit", "list"),
    "list of no list": (created(7, list={"a": 1}), "type_misfit", "list"),
    "milliseconds or microseconds": (created(7, at=1710037800123), "ambiguous_unit", "at"),
    "one before 1970": (created(7, at=-1), "ambiguous_unit", "at"),
    "the last millisecond of 9999": (created(7, at=253402300799999), "ambiguous_unit", "at"),
    "milliseconds or microseconds in a list": (created(7, moments=[0, 1710037800123]), "ambiguous_unit", "moments"),
    "too many fraction digits in a list": (created(7, prices=["1.5", "1.239"]), "type_misfit", "prices"),
    "64 bits": (created(7, mask=encoded(b"\xff" * 8)), "type_misfit", "mask"),
    "65 bits": (created(7, mask=encoded(b"\x01" * 9)), "type_misfit", "mask"),
    "more bits than the type has": (created(7, small_mask=encoded(b"\xff")), "type_misfit", "small_mask"),
    "an element out of range of its float": (created(7, singles=[1e300]), "type_misfit", "singles"),
    "lost in an array in an array": (created(7, nested=[[1, "x"], [3]]), "type_misfit", "nested"),
    "one digit too many for all 38": (created(7, wide="1.12345678901"), "type_misfit", "wide"),
    "a number that is base64 by chance": (created(7, amount="12"), "type_misfit", "amount"),
    "a number where bytes are": (created(7, raw=12), "type_misfit", "raw"),
    "bracket that closes too early": (text(created(7)) + "]" + text(created(8)), "malformed_json", None),
    "bracket behind": (text(created(7)) + "]", "malformed_json", None),
    "bracket behind a second object": (text(created(7)) + "," + text(created(8)) + "]", "malformed_json", None),
    "bracket behind an empty object": (text(created(7)) + ",{}] x", "malformed_json", None),
    "bracket behind a length": (text(created(7)) + ',{"line_length":9}] x', "malformed_json", None),
    "single quotes": ("{'op': 'c'}", "malformed_json", None),
    # Read as the value that JSON has no number for; no column but one of floating point can have it.
    "number that JSON has not": (text(created(7, other="?")).replace('"?"', "NaN"), "type_misfit", "other"),
    "infinity that JSON has not": (text(created(7, other="?")).replace('"?"', "-Infinity"), "type_misfit", "other"),
    "row like a heartbeat": ('{"id":1,"name":"x","ts_ms":5}', "unknown_shape", None),
    "row like a transaction": ('{"id":"1","status":"END","price":5}', "unknown_shape", None),
    "row like a schema change": ('{"id":"1","ddl":"x","databaseName":"y"}', "unknown_shape", None),
    "row like a message": ('{"op":"m","id":7}', "unknown_op", "m"),
    "several": (created(7, size=1.5, day="x"), "type_misfit", "size, day"),
    "rounded inside": (created(7, inside=INSIDE | {"total": 1.239}), "type_misfit", "inside"),
    "zoned without zone inside": (
        created(7, inside=INSIDE | {"since": "2024-05-01T12:00:00"}),
        "type_misfit",
        "inside",
    ),
    "zoned of a number inside": (created(7, inside={"since": 1710037800}), "type_misfit", "inside"),
    "half a date inside": (created(7, inside={"day": "2024-05"}), "type_misfit", "inside"),
    "local with a zone inside": (created(7, inside={"at": "2024-05-01T12:00:00Z"}), "type_misfit", "inside"),
    "misfit two levels inside": (created(7, inside=INSIDE | {"a-b": {"x": "much"}}), "type_misfit", "inside"),
    "infinite inside": (created(7, inside={"a-b": {"y": 1e39}}), "type_misfit", "inside"),
    "misfit in a list inside": (
        created(7, inside={"items": [{"sku": "a"}, {"quantity": 1.5}]}),
        "type_misfit",
        "inside",
    ),
    "misfit in a list of days": (created(7, inside={"days": ["2024-02-29", "2024-02-30"]}), "type_misfit", "inside"),
    "misfit in a map inside": (created(7, inside={"counts": {"a": {"n": "x"}}}), "type_misfit", "inside"),
    "list where a struct is": (created(7, inside=[1]), "type_misfit", "inside"),
    "struct where a list is": (created(7, inside={"items": {"sku": "a"}}), "type_misfit", "inside"),
    "list where a map is": (created(7, counts=[{"a": 1}]), "type_misfit", "counts"),
    "text where a struct is inside": (created(7, inside={"a-b": "x"}), "type_misfit", "inside"),
    "misfit in a map": (created(7, counts={"a": 1, "b": 2.5}), "type_misfit", "counts"),
    "unknown inside": (created(7, inside=INSIDE | {"hat": None}), "unknown_column", "inside.hat"),
    "unknown deep inside": (
        created(
            7, inside={"a-b": {"z": 1}, "items": [{"sku": "a"}, {"hat": 1}, {"hat": 2}], "counts": {"c": {"m": 1}}}
        ),
        "unknown_column",
        "inside.a-b.z, inside.items.hat, inside.counts.m",
    ),
}
GOOD = [created(100 + number) for number in range(len(BAD) + 1)]
PLAIN_LINES = [record for pair in zip(GOOD, [bad[0] for bad in BAD.values()], strict=False) for record in pair] + GOOD[
    -1:
]


def deleted(number: int, line: Line) -> Line | None:
    """The delete whose image is that of a bad create, of a row that only it names; None for a line that is none."""
    if not isinstance(line, dict) or line["op"] != "c":
        return None
    image = line["after"] and line["after"] | ({"id": number} if line["after"].get("id") == 7 else {})
    source = line["source"] | ({"lsn": 10_000 + number, "sequence": None} if "lsn" in line["source"] else {})
    return line | {"op": "d", "before": image, "after": None, "source": source}


# name -> number, the delete, and why it is rejected all the same: only its key and its position decide a delete.
DELETES = {
    name: (number, delete, reason if reason.startswith("missing_") or detail in ("id", "other") else None, detail)
    for number, (name, (line, reason, detail)) in enumerate(BAD.items(), start=2000)
    if (delete := deleted(number, line))
} | {
    "bytes that are not UTF-8": (
        3000,
        text(postgresql("d", 20_000, row(3000, day="X"))).encode().replace(b'"X"', b'"\xff"'),
        None,
        None,
    ),
    "a key that is not UTF-8": (
        3001,
        text(postgresql("d", 20_001, row(3001, other="X"))).encode().replace(b'"X"', b'"\xff"'),
        "invalid_utf8",
        None,
    ),
}
ROW_COLUMNS = {"id": "int", "at": "bigint", "op": "string", "gone": "date", "size": "smallint"}
# Of these columns some decide the operation, the order or the row; the others need not fit.
ROWS: list[dict[str, Any]] = [
    *({"id": number, "at": 1, "op": "I", "size": 1} for number in range(1, 6)),
    {"id": 1, "at": 2, "op": "D", "size": "much"},
    {"id": 2, "at": 2, "op": "D", "shoe": 1},
    # Of no date that fits nobody knows whether it is one.
    {"id": 3, "at": 2, "op": "U", "gone": "soon"},
    {"id": 4, "at": "late", "op": "D"},
    {"id": "five", "at": 2, "op": "D"},
    {"id": None, "at": 0, "op": "T", "size": "much", "shoe": 1},
]
TORN = lines(created(200), created(201))[:-20]
TRUNCATED_GZIP = zipped(lines(*(created(number, day=number) for number in range(300, 900))))[:-200]
ZIPPED_BAD = zipped(lines(created(250), BAD["invalid utf8"][0], created(251), "{", created(252)))

ROW = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "id", "type": "int"}, {"name": "other", "type": ["null", "int"], "default": None}],
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "fields": [{"name": "lsn", "type": ["null", "long"]}, {"name": "sequence", "type": ["null", "string"]}],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
    ],
}
AVRO = avro(ENVELOPE, *({**created(n), "source": {"lsn": n, "sequence": None}} for n in range(1, 6)))

# Columns of a table that are named as fields of control records are, and of JsonConverter's wrapper.
OWN: dict[str, Any] = {
    "op": "m",
    "message": "hello",
    "status": "END",
    "event_count": "3",
    "ddl": "x",
    "tableChanges": "y",
    "schema": {"type": "order"},
    "payload": {"id": 777, "name": "another"},
}
UNSAID_OP = {"__lsn": 11}

FEEDS = [
    Feed(
        "bad",
        COLUMNS,
        [
            {
                "plain+0+0.json": lines(*PLAIN_LINES),
                "torn+0+100.json": TORN,
                "truncated+0+200.json.gz": TRUNCATED_GZIP,
                "zipped+0+900.JSON.GZ": ZIPPED_BAD,
                "not gzip+0+1000.json.gz": b"plain text in a gzip's name\n",
                "empty+0+1001.json": b"",
                "no lines+0+1002.json.gz": zipped(b""),
                "other+0+1100.json": lines(created(999)),
                # No time on any clock: it orders nothing, so it costs neither the line nor the run.
                "clock+0+1200.json": lines(created(998) | {"source": {"lsn": 2000, "ts_ms": 2**63 - 1}}),
                "inside+0+1300.json": lines(
                    created(1300, inside=INSIDE, counts={"a": 1, "b": None}),
                    created(1301, inside={}, counts={}),
                    created(1302, inside=None, counts=None),
                ),
            }
        ],
        key=("id", "other"),
        models=("log", "state", "quarantine"),
        tests=True,
    ),
    Feed(
        "bad_deletes",
        COLUMNS,
        [
            {
                "t+0+0.json": lines(
                    *(postgresql("c", number, row(number, size=1)) for number, *_ in DELETES.values()),
                    *(delete for _, delete, *_ in DELETES.values()),
                )
            }
        ],
        key=("id", "other"),
        models=("log", "state"),
        slow=True,
    ),
    Feed(
        "bad_rows",
        ROW_COLUMNS,
        [{"t.json": lines(*ROWS)}],
        cdc={
            "connector": "table",
            "shape": "row",
            "sequence_by": ["at"],
            "apply_as_deletes": "op = 'D' or gone is not null",
            "apply_as_truncates": "op = 'T'",
        },
        models=("log", "state"),
    ),
    Feed(
        "bad_flat",
        {"id": "int", "name": "string"} | dict.fromkeys(OWN, "string"),
        [
            {
                "t+0+0.json": lines(
                    flattened("c", 1, {"id": 1, "name": "a"}, __anything="added by add.fields"),
                    flattened("c", None, {"id": 2, "name": "no position"}),
                    flattened("x", 3, {"id": 3, "name": "op"}),
                    flattened("c", 4, {"name": "key"}),
                    flattened("c", 5, {"id": 5, "name": "a", "shoe": 1}),
                    flattened("c", 6, {"id": 6.5, "name": "a"}),
                    '{"id":',
                    '["id"]',
                    flattened("c", 9, {"id": 9, "name": "b"}),
                    flattened("c", 10, {"id": 10} | OWN),
                    {"id": 11} | OWN | UNSAID_OP,
                    {"id": 12, "status": "END", "event_count": 2} | UNSAID_OP,
                    {"id": 13, "ddl": "x", "tableChanges": "y"} | UNSAID_OP,
                    {"id": 14, "op": "m", "message": "hello"} | UNSAID_OP,
                    TRANSACTION,
                    SCHEMA_CHANGE,
                    MESSAGE,
                    HEARTBEAT,
                )
            }
        ],
        cdc={"shape": "flattened"},
        models=("log", "quarantine"),
        slow=True,
    ),
    Feed(
        "bad_mysql",
        {"id": "int"},
        [
            {
                "t+0+0.json": lines(
                    mysql("c", "mysql-bin.000001", 4, {"id": 1, "shoe": 3}),
                    postgresql("c", 5, {"id": 2}),
                    mysql("c", "", 4, {"id": 3}),
                )
            }
        ],
        cdc={"connector": "mysql", "unknown_columns": "ignore", "quarantine": {}},
        models=("log", "state", "living"),
        tests=True,
        fails=["rejected_within_threshold_stg_pipe__bad_mysql", "slv_pipe__bad_mysql"],
    ),
    Feed(
        "bad_avro",
        {"id": "int", "other": "int"},
        [
            {
                "good+0+0.avro": AVRO,
                "torn+0+5.avro": AVRO[:-10],
                "head+0+10.avro": AVRO[:20],
                "text+0+12.avro": b"no Avro",
            }
        ],
        using="avro",
        models=("log", "quarantine"),
        tests=True,
    ),
    Feed(
        "bad_parquet",
        {"id": "int"},
        [{"torn+0+5.parquet": b"PAR1" + b"\x00" * 100, "text+0+12.parquet": b"no Parquet"}],
        using="parquet",
        cdc={"shape": "flattened"},
        models=("log", "quarantine"),
        slow=True,
    ),
]


def rejected(project: Project, feed: str, file: str) -> list[dict[str, Any]]:
    return [
        r for r in project.quarantine(feed) if unquote(r["_cdc_file_path"]).rsplit("/", 1)[1].startswith(file + "+")
    ]


def arrived(project: Project, feed: str, file: str) -> list[int]:
    return [
        r["id"]
        for r in project.log(feed)
        if r["_cdc_kind"] == "change" and unquote(r["_cdc_file_path"]).rsplit("/", 1)[1].startswith(file + "+")
    ]


@pytest.mark.parametrize("name", BAD)
def test_bad_line_is_one_row_with_reason_text_and_place(project: Project, name: str) -> None:
    line, reason, detail = BAD[name]
    number = 2 * list(BAD).index(name) + 2
    found = [row for row in rejected(project, "bad", "plain") if row["_cdc_line"] == number]
    assert [row["_cdc_reject_reason"] for row in found] == [reason], found
    if detail is not None:
        assert found[0]["_cdc_reject_detail"] == detail
    raw = line if isinstance(line, str) else line.decode(errors="replace") if isinstance(line, bytes) else text(line)
    assert found[0]["_cdc_raw"] == raw
    assert (found[0]["_cdc_file_offset"], found[0]["_cdc_kafka_partition"], found[0]["_cdc_batch"]) == (0, 0, 1)


def test_good_lines_beside_bad_ones_arrive(project: Project) -> None:
    assert arrived(project, "bad", "plain") == list(range(100, 101 + len(BAD)))
    assert arrived(project, "bad", "other") == [999]
    assert arrived(project, "bad", "clock") == [998]


def test_good_nested_values_arrive_as_they_are(project: Project) -> None:
    whole, empty, none = (row for row in project.log("bad") if row["id"] in (1300, 1301, 1302))
    assert whole["counts"] == {"a": 1, "b": None}
    assert whole["inside"] == INSIDE | {
        "total": Decimal("12.50"),
        "since": datetime(2024, 5, 1, 10, tzinfo=None),
        "day": date(2024, 5, 1),
        "at": datetime(2024, 5, 1, 12, 0, 0, 1),
        "items": [
            {"sku": "a", "quantity": 1},
            None,
            {"sku": "b", "quantity": None},
            {"sku": None, "quantity": None},
        ],
        "days": [date(2024, 2, 29), None],
    }
    assert set(empty["inside"].values()) == {None}
    assert (empty["counts"], none["inside"], none["counts"]) == ({}, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", DELETES)
def test_the_key_decides_a_delete_whatever_its_image_has(project: Project, name: str) -> None:
    number, _, reason, detail = DELETES[name]
    line = len(DELETES) + list(DELETES).index(name) + 1
    (logged,) = [row for row in project.log("bad_deletes") if row["_cdc_line"] == line]
    assert logged["_cdc_reject_reason"] == reason
    if reason and detail:
        assert logged["_cdc_reject_detail"] == detail
    (state,) = [row for row in project.state("bad_deletes") if row["id"] == number]
    assert (state["_is_deleted"], state["size"]) == (reason is None, 1)
    if BAD.get(name, ("", "", ""))[1] == "unknown_column":
        assert logged["_cdc_unknown_columns"] == str(detail).split(", ")


@pytest.mark.slow
def test_what_a_deletes_image_has_is_exact_or_none(project: Project) -> None:
    columns = {
        name: detail
        for name, (_, reason, detail) in ((n, BAD[n]) for n in DELETES if n in BAD)
        if reason == "type_misfit"
    }
    log = {row["_cdc_line"]: row for row in project.log("bad_deletes")}
    for name, detail in columns.items():
        logged = log[len(DELETES) + list(DELETES).index(name) + 1]
        if detail not in COLUMNS or "array" in str(COLUMNS[detail]) or detail == "inside":
            continue
        assert logged[detail] is None, (name, logged[detail])


def test_rows_are_deletes_and_truncates_by_the_columns_that_say_so(project: Project) -> None:
    log = project.log("bad_rows")
    assert {
        row["_cdc_line"]: (row["_cdc_reject_reason"] or row["_cdc_op"], row["_cdc_reject_detail"])
        for row in log
        if row["_cdc_line"] > 5
    } == {
        6: ("d", None),
        7: ("d", None),
        8: ("type_misfit", "gone"),
        9: ("missing_position", None),
        10: ("type_misfit", "id"),
        11: ("t", None),
    }
    assert {row["id"]: row["_is_deleted"] for row in project.state("bad_rows")} == {
        1: True,
        2: True,
        3: False,
        4: False,
        5: False,
    }


def test_torn_last_line_is_rejected_and_the_line_before_arrives(project: Project) -> None:
    assert arrived(project, "bad", "torn") == [200]
    (row,) = rejected(project, "bad", "torn")
    assert (row["_cdc_reject_reason"], row["_cdc_line"]) == ("malformed_json", 2)


def test_truncated_gzip_gives_its_lines_and_one_rejected_row(project: Project) -> None:
    before = arrived(project, "bad", "truncated")
    assert before == list(range(300, 300 + len(before)))
    assert len(before) > 100
    (row,) = rejected(project, "bad", "truncated")
    assert (row["_cdc_reject_reason"], row["_cdc_line"]) == ("unreadable_file", len(before) + 1)


def test_invalid_line_in_a_gzip_does_not_end_it(project: Project) -> None:
    assert arrived(project, "bad", "zipped") == [250, 251, 252]
    assert [(r["_cdc_line"], r["_cdc_reject_reason"]) for r in rejected(project, "bad", "zipped")] == [
        (2, "invalid_utf8"),
        (4, "malformed_json"),
    ]


def test_file_that_is_no_gzip_is_one_rejected_row(project: Project) -> None:
    (row,) = rejected(project, "bad", "not gzip")
    assert row["_cdc_reject_reason"] == "unreadable_file"


def test_files_without_lines_are_applied_and_give_no_row(project: Project) -> None:
    assert arrived(project, "bad", "no lines") == []
    assert rejected(project, "bad", "no lines") == []
    (row,) = [row for row in project.ledger("bad") if "no%20lines" in row["file_path"]]
    assert (row["line_count"], row["rejected_count"]) == (0, 0)


def test_no_rejected_row_changes_the_state(project: Project) -> None:
    changes = {row["id"] for row in project.log("bad") if row["_cdc_kind"] == "change"}
    assert {row["id"] for row in project.state("bad")} == changes
    assert 7 not in changes


@pytest.mark.slow
def test_flattened_records_are_judged_alike(project: Project) -> None:
    assert arrived(project, "bad_flat", "t") == [1, 9, 10, 11, 12, 13, 14]
    assert [
        (r["_cdc_line"], r["_cdc_reject_reason"], r["_cdc_reject_detail"]) for r in project.quarantine("bad_flat")
    ] == [
        (2, "missing_position", None),
        (3, "unknown_op", "x"),
        (4, "missing_key", "id"),
        (5, "unknown_column", "shoe"),
        (6, "type_misfit", "id"),
        (7, "malformed_json", None),
        (8, "malformed_json", None),
    ]


@pytest.mark.slow
def test_columns_named_like_fields_of_control_records_make_no_control_record(project: Project) -> None:
    (row,) = [row for row in project.log("bad_flat") if row["_cdc_line"] == 10]
    assert (row["_cdc_kind"], row["op"], row["status"], row["ddl"]) == ("change", "m", "END", "x")
    assert json.loads(row["payload"]) == OWN["payload"]
    others = [row["_cdc_kind"] for row in project.log("bad_flat") if row["_cdc_line"] > 14]
    assert others == ["transaction", "schema_change", "message", "heartbeat"]


def test_unknown_columns_can_be_ignored(project: Project) -> None:
    assert [row["id"] for row in project.log("bad_mysql") if row["_cdc_kind"] == "change"] == [1]


@pytest.mark.parametrize(
    ("file", "ids"), [("good", [1, 2, 3, 4, 5]), ("torn", [1, 2, 3, 4]), ("head", []), ("text", [])]
)
def test_torn_avro_gives_its_whole_blocks_and_one_rejected_row(project: Project, file: str, ids: list[int]) -> None:
    assert arrived(project, "bad_avro", file) == ids
    broken = [] if file == "good" else [("unreadable_file", len(ids) + 1)]
    assert [(r["_cdc_reject_reason"], r["_cdc_line"]) for r in rejected(project, "bad_avro", file)] == broken


@pytest.mark.slow
def test_parquet_without_footer_is_one_rejected_row(project: Project) -> None:
    assert [r["_cdc_reject_reason"] for r in project.quarantine("bad_parquet")] == ["unreadable_file"] * 2


def test_threshold_fails_the_build_and_blocks_what_is_downstream(project: Project) -> None:
    status = project.outcomes[0].status
    (threshold,) = [name for name in status if name.startswith("rejected_within_threshold_stg_pipe__bad_mysql")]
    assert status[threshold] == "fail"
    assert status["slv_pipe__bad_mysql_state"] == status["slv_pipe__bad_mysql"] == "skipped"
    assert [(r["id"], r["_cdc_reject_reason"]) for r in project.log("bad_mysql")] == [
        (1, None),
        (2, "missing_position"),
        (3, "missing_position"),
    ]


def test_rejected_rows_within_the_threshold_are_a_warning(project: Project) -> None:
    status = project.outcomes[0].status
    found = {
        name: status for name, status in status.items() if name.startswith("rejected_within_threshold_stg_pipe__bad")
    }
    assert sorted(found.values()) == ["fail", "warn", "warn"]
