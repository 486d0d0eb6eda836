"""Texts of values, as Arrow holds them."""

from __future__ import annotations

import json
import struct
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types

from alluvium.query import QueryError
from alluvium.query.values import (
    arrow_type,
    date_text,
    double_text,
    float_text,
    json_of,
    text_of,
    timestamp_ntz_text,
    timestamp_text,
    transport_type,
)

DAY = 86_400_000_000
EPOCH = date(1970, 1, 1).toordinal()
PAIR = types.StructType([types.StructField("a", types.IntegerType()), types.StructField("a", types.DateType())])


@given(st.dates())
def test_dates_of_python(value: date) -> None:
    assert date_text(value.toordinal() - EPOCH) == value.isoformat()


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (-735_525, "-0044-03-15"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (2**31 - 1, "+5881580-07-11"),  # java.time.LocalDate.ofEpochDay
        (-(2**31), "-5877641-06-23"),
    ],
)
def test_dates_beyond_those_of_python(days: int, text: str) -> None:
    assert date_text(days) == text


@given(st.datetimes(), st.sampled_from([0, 1]))
def test_timestamps_of_python(value: datetime, whole: int) -> None:
    value = value.replace(microsecond=0) if whole else value
    since = value - datetime(1970, 1, 1)
    microseconds = (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
    assert timestamp_ntz_text(microseconds) == value.isoformat()
    assert timestamp_text(microseconds) == value.replace(tzinfo=timezone.utc).isoformat()


def test_timestamps_at_the_ends_of_their_range() -> None:
    assert timestamp_text(2**63 - 1) == "+294247-01-10T04:00:54.775807+00:00"  # java.time.Instant
    assert timestamp_text(-(2**63)) == "-290308-12-21T19:59:05.224192+00:00"


@given(st.floats(width=32))
def test_text_of_a_float_gives_the_float(value: float) -> None:
    text = float_text(value)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value) or value != value
    assert float_text(struct.unpack("<f", struct.pack("<f", 0.1))[0]) == "0.1"


@given(st.floats())
def test_text_of_a_double_gives_the_double(value: float) -> None:
    assert float(double_text(value)) == value or value != value


@pytest.mark.parametrize(
    ("data_type", "value", "text", "as_json"),
    [
        (types.StringType(), 'a"\n', 'a"\n', r'"a\"\n"'),
        (types.StringType(), "", "", '""'),
        (types.BooleanType(), True, "true", "true"),
        (types.LongType(), 2**63 - 1, "9223372036854775807", "9223372036854775807"),
        (types.DecimalType(38, 10), Decimal("0E-10"), "0.0000000000", "0.0000000000"),
        (types.DecimalType(38, 0), Decimal("9" * 38), "9" * 38, "9" * 38),
        (types.DecimalType(38, 37), Decimal(f"-1.{'3' * 37}"), f"-1.{'3' * 37}", f"-1.{'3' * 37}"),
        (types.DoubleType(), float("nan"), "NaN", '"NaN"'),
        (types.FloatType(), float("-inf"), "-Infinity", '"-Infinity"'),
        (types.DoubleType(), -0.0, "-0.0", "-0.0"),
        (types.BinaryType(), b"\x00\xff", "00FF", '"AP8="'),
        (types.DateType(), 0, "1970-01-01", '"1970-01-01"'),
        (types.TimestampType(), 1, "1970-01-01T00:00:00.000001+00:00", '"1970-01-01T00:00:00.000001+00:00"'),
        (types.TimestampNTZType(), DAY, "1970-01-02T00:00:00", '"1970-01-02T00:00:00"'),
        (types.YearMonthIntervalType(), "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1-2' YEAR TO MONTH", None),
        (types.ArrayType(types.DateType()), [0, None], '["1970-01-01",null]', '["1970-01-01",null]'),
        (PAIR, {"0": 1, "1": 0}, '{"a":1,"a":"1970-01-01"}', '{"a":1,"a":"1970-01-01"}'),
        (types.MapType(types.DateType(), PAIR), [(0, None)], '{"1970-01-01":null}', '{"1970-01-01":null}'),
        (types.MapType(types.StringType(), types.BinaryType()), [("", b"")], '{"":""}', '{"":""}'),
    ],
)
def test_text_and_json_of_a_value(data_type: types.DataType, value: Any, text: str, as_json: str | None) -> None:
    assert text_of(data_type)(value) == text
    assert json_of(data_type)(value) == (json.dumps(text) if as_json is None else as_json)
    assert json_of(data_type)(None) == "null"


def test_layout_is_the_same_for_numbers_and_for_dates() -> None:
    data_type = types.StructType(
        [
            types.StructField("d", types.ArrayType(types.DateType())),
            types.StructField("t", types.MapType(types.StringType(), types.TimestampType())),
        ]
    )
    plain, exact = (arrow_type(data_type, is_plain=is_plain) for is_plain in (True, False))
    assert str(plain) == "struct<0: list<item: int32>, 1: map<string, int64>>"
    assert str(exact) == "struct<d: list<item: date32[day]>, t: map<string, timestamp[us, tz=UTC]>>"


def test_what_spark_does_not_hand_over_is_cast() -> None:
    nested = types.ArrayType(types.MapType(types.StringType(), types.DayTimeIntervalType()))
    assert transport_type(nested) == types.ArrayType(types.MapType(types.StringType(), types.StringType()))
    assert transport_type(PAIR).simpleString() == "struct<0:int,1:date>"
    assert transport_type(types.LongType()) == types.LongType()


def test_type_that_arrow_lacks_is_refused() -> None:
    class Other(types.DataType):
        pass

    with pytest.raises(QueryError, match="cast it to string"):
        arrow_type(Other(), is_plain=True)
