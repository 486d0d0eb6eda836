"""Types of schema changes, held against the values: a declaration does not say how the connector sends them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alluvium.inspection import inspect
from alluvium.inspection.declared_types import checked_against_values
from alluvium.inspection.schemas import Schema
from alluvium.inspection.table_changes import declared_tables
from alluvium.inspection.types import JsonNumber, ProposedType, Values
from alluvium.scaffolding.feeds import feeds_of

if TYPE_CHECKING:
    from pathlib import Path

DATETIME, TIME, DECIMAL, LONG = ("DATETIME", 6), ("TIME", 6), ("DECIMAL", 10, 2), ("DECIMAL", 65, 30)
Declared = tuple[Any, ...]
MILLISECONDS, MICROSECONDS = 1_714_564_800_123, 1_714_564_800_123_456


def schema_change(**columns: Declared) -> dict[str, Any]:
    parts = ("typeName", "length", "scale")
    described = [{"name": name, **dict(zip(parts, declared, strict=False))} for name, declared in columns.items()]
    table = {"id": '"shop"."t"', "table": {"primaryKeyColumnNames": [next(iter(columns))], "columns": described}}
    return {"source": {"connector": "mysql"}, "ddl": "CREATE TABLE", "tableChanges": [table]}


def held(
    values: dict[str, list[Any]], columns: dict[str, Declared], schema: Schema | None = None
) -> dict[str, ProposedType]:
    (table,) = declared_tables(schema_change(**columns)).values()
    seen = {}
    for name, found in values.items():
        seen[name] = Values()
        for value in found:
            seen[name].add(value)
    return checked_against_values(table.types, seen, {"x": schema} if schema else {})


@pytest.mark.parametrize(
    ("declared", "values", "data_type", "semantic_type"),
    [
        (DATETIME, [MICROSECONDS, None], "timestamp_ntz", "io.debezium.time.MicroTimestamp"),
        # One of them is of 1970.
        (DATETIME, [*[MICROSECONDS] * 9, MILLISECONDS], "timestamp_ntz", "io.debezium.time.MicroTimestamp"),
        (("DATETIME", 3), [MILLISECONDS], "timestamp_ntz", "io.debezium.time.Timestamp"),
        (DATETIME, ["2024-05-01T12:00:00Z"], "timestamp_ntz", "io.debezium.time.IsoTimestamp"),
        (TIME, [45_296_789_000, -1], "string", "io.debezium.time.MicroTime"),
        (TIME, ["12:34:56Z"], "string", "io.debezium.time.IsoTime"),
        (("DATE",), [19844], "date", None),
        (("DATE",), ["2024-05-01"], "date", "io.debezium.time.IsoDate"),
        (DECIMAL, ["BNI=", None], "decimal(10,2)", None),
        (DECIMAL, ["12.30"], "decimal(10,2)", None),
        (LONG, ["12.300000000000000000000000000000"], "string", "decimal"),
        (("BIGINT UNSIGNED",), [5], "decimal(20,0)", None),
        (("BIT", 8), ["AQ=="], "bigint", "io.debezium.data.Bits"),
        (("BLOB",), ["AeJA", "abcd"], "binary", None),
        (("VARCHAR",), [1, {"a": 1}], "string", None),
        (("DOUBLE",), [JsonNumber("1.5"), 1], "double", None),
        (("INT",), [None], "int", None),
    ],
)
def test_values_that_fit(declared: Declared, values: list[Any], data_type: str, semantic_type: str | None) -> None:
    found = held({"x": values}, {"x": declared})["x"]
    assert (found.data_type, found.semantic_type, found.question) == (data_type, semantic_type, None)


@pytest.mark.parametrize(
    ("declared", "values", "semantic_type", "question"),
    [
        (DATETIME, [MILLISECONDS], "io.debezium.time.Timestamp", "as large as milliseconds since 1970: does it count"),
        (("DATETIME",), [MICROSECONDS], "io.debezium.time.MicroTimestamp", "as large as microseconds since 1970"),
        (DATETIME, [MICROSECONDS * 1000], "io.debezium.time.NanoTimestamp", "as large as nanoseconds since 1970"),
        (
            DATETIME,
            [MILLISECONDS, MICROSECONDS],
            "io.debezium.time.MicroTimestamp",
            "do its numbers count milliseconds or microseconds since 1970?",
        ),
        (TIME, [45_296_789], "io.debezium.time.Time", "as large as milliseconds since midnight"),
        (TIME, [45_296_789, "12:34:56Z"], None, "look like integer and text: which data_type"),
        (("DATE",), ["yesterday!"], None, "x is DATE in the source, and its values look like text"),
        (("TINYINT", 1), [True], None, "look like boolean"),
        (("BLOB",), ["no base64"], None, "look like text"),
        (("TIMESTAMP",), [MICROSECONDS], None, "look like integer"),
        (LONG, ["BNI="], None, "which decimal of up to 38 digits holds all values of x, DECIMAL(65,30) in the source?"),
        (LONG, [], None, "which decimal of up to 38 digits"),
    ],
)
def test_values_that_do_not_fit_are_asked_about(
    declared: Declared, values: list[Any], semantic_type: str | None, question: str
) -> None:
    found = held({"x": values}, {"x": declared})["x"]
    assert found.semantic_type == semantic_type
    assert question in str(found.question)


def test_unit_of_one_column_casts_doubt_on_those_without_values() -> None:
    columns: dict[str, Declared] = {"x": DATETIME, "y": DATETIME, "z": TIME, "d": ("DATE",), "seen": TIME}
    values: dict[str, list[Any]] = {"x": [MILLISECONDS], "y": [None], "seen": [45_296_789_000]}
    found = held(values, columns)
    assert [name for name, proposed in found.items() if proposed.question] == ["x", "y", "z"]
    assert "No value tells, and x has another one" in str(found["z"].question)
    assert not any(proposed.question for proposed in held({"y": [None]}, columns).values())


@pytest.mark.parametrize(
    ("declared", "name", "semantic_type"),
    [
        (DATETIME, "org.apache.kafka.connect.data.Timestamp", "org.apache.kafka.connect.data.Timestamp"),
        (LONG, "org.apache.kafka.connect.data.Decimal", "org.apache.kafka.connect.data.Decimal"),
        (("BIT", 8), "io.debezium.data.Bits", "io.debezium.data.Bits"),
        (("DATE",), "io.debezium.time.Date", None),
    ],
)
def test_schema_of_the_record_says_what_values_do_not(declared: Declared, name: str, semantic_type: str | None) -> None:
    schema = Schema("bytes", name, scale=30, precision=65) if declared == LONG else Schema("int64", name)
    found = held({"x": [MILLISECONDS]}, {"x": declared}, schema)["x"]
    assert (found.semantic_type, found.question) == (semantic_type, None)


@pytest.mark.parametrize(
    ("rows", "mode", "question"),
    [
        ([{"amount": "12.30"}, {"amount": "1234.00"}], "string", None),
        ([{"amount": "1234", "units": "5678"}], "string", None),
        ([{"amount": "BNI="}, {"amount": "AeJA"}], None, None),
        ([{"amount": 12.5}], None, "are its decimals doubles"),
        ([{"amount": "1234", "units": "BNI="}], None, "are its decimals texts"),
        # A version that is no decimal, whatever it looks like.
        ([{"amount": "BNI=", "version": "1.5"}], None, None),
    ],
)
def test_mode_of_declared_decimals(
    tmp_path: Path, rows: list[dict[str, Any]], mode: str | None, question: str | None
) -> None:
    declared = schema_change(
        id=("INT",), amount=DECIMAL, units=("DECIMAL", 10, 0), version=("VARCHAR", 20), big=("BIGINT UNSIGNED",)
    )
    source = {"connector": "mysql", "db": "shop", "table": "t", "file": "b.1", "pos": 4}
    events = [
        {"before": None, "after": {"id": number, "big": 5, **row}, "source": source, "op": "c"}
        for number, row in enumerate(rows)
    ]
    for topic, lines in {"erp": [declared], "erp.shop.t": events}.items():
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{topic}+0+0.json").write_text(text, encoding="utf-8")
    (feed,) = feeds_of(inspect(str(tmp_path)))
    assert feed.options.get("decimal_handling_mode") == mode
    assert ("decimal_handling_mode" in feed.options) is bool(mode or question)
    assert [question in asked for asked in feed.questions] == [True] if question else feed.questions == ()
