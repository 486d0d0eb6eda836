"""What a server sends, and what is made of it; tests/python/sql compares it with what a session has."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types

from alluvium.query import QueryError
from alluvium.query.result import Result
from alluvium.query.thrift import ServedResult, ServerError, sentence
from alluvium.query.wire import raw_type, received, scalar_type, sent

PAIR = types.StructType([types.StructField("a", types.DateType()), types.StructField("A", types.StringType())])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", types.LongType()),
        ("decimal(38,10)", types.DecimalType(38, 10)),
        ("varchar(3)", types.StringType()),
        ("timestamp_ntz", types.TimestampNTZType()),
        ("interval year", types.YearMonthIntervalType(0, 0)),
        ("interval year to month", types.YearMonthIntervalType(0, 1)),
        ("interval day to second", types.DayTimeIntervalType(0, 3)),
        ("void", types.NullType()),
    ],
)
def test_types_that_are_named(text: str, expected: types.DataType) -> None:
    assert scalar_type(text) == expected


@pytest.mark.parametrize("text", ["interval", "variant", "decimal"])
def test_type_that_cannot_be_shown(text: str) -> None:
    with pytest.raises(QueryError, match="cast it to string"):
        scalar_type(text)


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        (types.LongType(), "c"),
        (types.DecimalType(3, 1), "cast(c as string)"),
        (types.FloatType(), "cast(cast(c as double) as string)"),
        (types.StringType(), "cast(c as binary)"),
        (types.BinaryType(), "c"),
        (types.TimestampType(), "unix_micros(c)"),
        (
            types.ArrayType(types.StringType()),
            "to_json(transform(cast(c as array<string>), x0 -> hex(x0)))",
        ),
        (
            PAIR,
            "to_json(if(cast(c as struct<f0:date,f1:string>) is null, null, named_struct("
            "'f0', unix_date(cast(c as struct<f0:date,f1:string>).f0), "
            "'f1', hex(cast(c as struct<f0:date,f1:string>).f1))))",
        ),
    ],
)
def test_expression_that_sends(data_type: types.DataType, expected: str) -> None:
    assert sent(data_type, "c") == expected


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (types.DecimalType(38, 10), "0E-10", Decimal("0E-10")),
        (types.DoubleType(), "1.0E22", 1e22),
        (types.StringType(), b"\xff", b"\xff"),
        (types.YearMonthIntervalType(), "INTERVAL '1' YEAR", b"INTERVAL '1' YEAR"),
        (types.ArrayType(types.LongType()), "[9223372036854775807,null]", [2**63 - 1, None]),
        (types.ArrayType(types.StringType()), '["C3B6","",null]', ["ö".encode(), b"", None]),
        (PAIR, '{"f0":0}', {"0": 0, "1": None}),
        (
            types.MapType(types.DateType(), PAIR),
            '[{"f0":1},{"f0":2,"f1":{}}]',
            [(1, None), (2, {"0": None, "1": None})],
        ),
    ],
)
def test_value_that_is_received(data_type: types.DataType, value: Any, expected: Any) -> None:
    found = received(data_type)(value)
    assert found == expected
    assert len(pa.array([found, None], raw_type(data_type))) == 2


class Cursor:
    """Rows that a server would send."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = list(rows)

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        found, self._rows = self._rows[:2], self._rows[2:]
        return found

    def close(self) -> None:
        pass


def served(*rows: tuple[Any, ...], limit: int | None) -> Result:
    fields = [types.StructField("a", types.StringType()), types.StructField("a", PAIR)]
    decoders = [received(field.dataType) for field in fields]
    return ServedResult(fields, decoders, lambda: Cursor(*rows), limit, lambda: None)


def test_rows_are_cut_and_have_their_types() -> None:
    result = served((b"x", None), (None, "{}"), (b"z", '{"f0":-735525,"f1":"C3B6"}'), limit=2)
    batches = list(result.batches(is_plain=False))
    assert result.is_cut
    assert [batch.num_rows for batch in batches] == [2, 0]
    assert str(batches[0].schema.types[1]) == "struct<a: date32[day], A: string>"
    assert [column.to_pylist() for column in batches[0].columns] == [["x", None], [None, {"a": None, "A": None}]]


@pytest.mark.parametrize("row", [(b"\xff", None), (b"", '{"f1":"FF"}')])
def test_text_that_is_not_utf_8(row: tuple[Any, ...]) -> None:
    with pytest.raises(QueryError, match=r"The column a has a value that is no .*hex\(\) shows"):
        list(served(row, limit=None).batches(is_plain=True))


FIRST = "org.apache.hive.service.cli.HiveSQLException: Error running query: "
TRACE = "\n\tat org.apache.spark.Some.method(Some.scala:43)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{FIRST}[PARSE_SYNTAX_ERROR] org.apache.spark.sql.catalyst.parser.ParseException: \n[PARSE_SYNTAX_ERROR] "
            f"Syntax error at or near 'b'.(line 2, pos 4)\n\n== SQL ==\nselect a b b\n---^^^\n{TRACE}",
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'b'.; line 2 pos 4",
        ),
        (
            f"{FIRST}[NOT_FOUND] org.apache.spark.sql.AnalysisException: [NOT_FOUND] `a` is\nnot there.; line 2 pos 14;"
            f"\n'Project [*]\n+- 'UnresolvedRelation [a]\n{TRACE}",
            "[NOT_FOUND] `a` is not there.; line 2 pos 14",
        ),
        (
            f"{FIRST}org.apache.spark.SparkException: Job aborted: java.lang.RuntimeException: it: broke{TRACE}\n"
            f"Driver stacktrace:{TRACE}Caused by: java.lang.RuntimeException: it: broke{TRACE}\t... 16 more\n",
            "it: broke",
        ),
        (f"java.lang.NullPointerException{TRACE}", "java.lang.NullPointerException"),
        (
            f"{FIRST}org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File x\n"
            f"ValueError: no\n{TRACE}",
            "ValueError: no",
        ),
        ("Cancelled.", "Cancelled."),
    ],
)
def test_sentence_of_a_trace(text: str, expected: str) -> None:
    assert sentence(text) == expected
    assert ServerError(text).is_of_parser == ("ParseException" in text)
