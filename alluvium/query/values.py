"""One exact text per value.

Values come from Spark as Arrow and are taken as Arrow stores them: a date is a number of days, a timestamp a number of
microseconds. Python's own dates begin with the year 1 and end with 9999, and PySpark shifts its timestamps into the
time zone of the machine.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types

from . import QueryError

Text = Callable[[Any], str]

DAYS_IN_400_YEARS = 146_097
EPOCH = date(1970, 1, 1).toordinal()
MICROSECONDS_IN_A_DAY = 86_400_000_000

# Both have the same layout in memory, so that a batch can be read as either.
_EXACT: dict[type[types.DataType], pa.DataType] = {
    types.NullType: pa.null(),
    types.BooleanType: pa.bool_(),
    types.ByteType: pa.int8(),
    types.ShortType: pa.int16(),
    types.IntegerType: pa.int32(),
    types.LongType: pa.int64(),
    types.FloatType: pa.float32(),
    types.DoubleType: pa.float64(),
    types.StringType: pa.string(),
    types.BinaryType: pa.binary(),
    types.DateType: pa.date32(),
    types.TimestampType: pa.timestamp("us", tz="UTC"),
    types.TimestampNTZType: pa.timestamp("us"),
}
_PLAIN: dict[type[types.DataType], pa.DataType] = {
    types.DateType: pa.int32(),
    types.TimestampType: pa.int64(),
    types.TimestampNTZType: pa.int64(),
}
_INTERVALS = (types.YearMonthIntervalType, types.DayTimeIntervalType)
_TEXTS = (types.StringType, *_INTERVALS)  # as `transport_type` has them


def transport_type(data_type: types.DataType) -> types.DataType:
    """The type as which Spark can hand a column over without a loss: the column's own but for two cases.

    Intervals become Spark's text for them: Parquet has no type for them. Fields of a struct that
    share a name get their numbers as names, because Spark refuses to hand over two of one name.
    """
    if isinstance(data_type, types.ArrayType):
        return types.ArrayType(transport_type(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, types.MapType):
        return types.MapType(
            transport_type(data_type.keyType), transport_type(data_type.valueType), data_type.valueContainsNull
        )
    if isinstance(data_type, types.StructType):
        names = data_type.names if not repeated(data_type.names) else list(map(str, range(len(data_type))))
        return types.StructType(
            [
                types.StructField(name, transport_type(field.dataType), field.nullable)
                for name, field in zip(names, data_type, strict=True)
            ]
        )
    if isinstance(data_type, _INTERVALS):
        return types.StringType()
    return data_type


def arrow_type(data_type: types.DataType, *, is_plain: bool) -> pa.DataType:
    """The Arrow type of a Spark type that `transport_type` has returned.

    Args:
        data_type: the Spark type.
        is_plain: whether dates and timestamps are numbers and the fields of structs have their numbers as names, for
            `text_of` and `json_of`. Otherwise they are dates, timestamps and names, for files.

    Raises:
        QueryError: Arrow has no such type.
    """
    if isinstance(data_type, types.ArrayType):
        return pa.list_(arrow_type(data_type.elementType, is_plain=is_plain))
    if isinstance(data_type, types.MapType):
        return pa.map_(
            arrow_type(data_type.keyType, is_plain=is_plain), arrow_type(data_type.valueType, is_plain=is_plain)
        )
    if isinstance(data_type, types.StructType):
        return pa.struct(
            [
                pa.field(str(position) if is_plain else field.name, arrow_type(field.dataType, is_plain=is_plain))
                for position, field in enumerate(data_type)
            ]
        )
    if isinstance(data_type, types.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    found = (_PLAIN.get(type(data_type)) if is_plain else None) or _EXACT.get(type(data_type))
    if found is None:
        raise QueryError(f"A value of type {data_type.simpleString()} cannot be shown: cast it to string.")
    return found


def text_of(data_type: types.DataType) -> Text:
    """The function that writes a value of a type as text; NULL is not given to it.

    Strings are as they are, binary is hexadecimal digits; arrays, maps and structs are JSON as of `json_of`.
    """
    if isinstance(data_type, _TEXTS):
        return str
    if isinstance(data_type, types.BinaryType):
        return lambda value: str(value.hex().upper())
    return _scalar(data_type) or json_of(data_type)


def json_of(data_type: types.DataType) -> Text:
    """The function that writes a value of a type as JSON; None is ``null``.

    Numbers have all their digits, also where they are more than a float has; NaN and the infinities are strings. Binary
    is base64. A map is an object with its keys as text.
    """
    write = _json(data_type)
    return lambda value: "null" if value is None else write(value)


def _json(data_type: types.DataType) -> Text:
    if isinstance(data_type, _TEXTS):
        return _quoted
    if isinstance(data_type, types.BinaryType):
        return lambda value: f'"{base64.b64encode(value).decode()}"'
    if isinstance(data_type, types.ArrayType):
        element = json_of(data_type.elementType)
        return lambda value: f"[{','.join(map(element, value))}]"
    if isinstance(data_type, types.MapType):
        key, item = text_of(data_type.keyType), json_of(data_type.valueType)
        return lambda value: f"{{{','.join(f'{_quoted(key(k))}:{item(v)}' for k, v in value)}}}"
    if isinstance(data_type, types.StructType):
        fields = [(_quoted(field.name), json_of(field.dataType)) for field in data_type]
        return lambda value: (
            f"{{{','.join(f'{name}:{write(v)}' for (name, write), v in zip(fields, value.values(), strict=True))}}}"
        )
    scalar = _scalar(data_type)
    assert scalar is not None, data_type
    if isinstance(data_type, types.DateType | types.TimestampType | types.TimestampNTZType):
        return lambda value: f'"{scalar(value)}"'
    if isinstance(data_type, types.FloatType | types.DoubleType):
        return lambda value: scalar(value) if math.isfinite(value) else f'"{scalar(value)}"'
    return scalar


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _scalar(data_type: types.DataType) -> Text | None:
    """Text of a number, a truth value or a time; None for other types."""
    for kinds, write in _SCALARS:
        if isinstance(data_type, kinds):
            return write
    return None


def decimal_text(value: Decimal) -> str:
    """All digits of the column's scale, no exponent."""
    return format(value, "f")


def double_text(value: float) -> str:
    """The shortest digits that stand for this value and no other."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def float_text(value: float) -> str:
    """As `double_text` among the values of single precision: 0.1, not 0.10000000149011612."""
    if not math.isfinite(value):
        return double_text(value)
    texts = (f"{value:.{digits}g}" for digits in range(6, 10))  # nine always do
    return repr(float(next(text for text in texts if struct.pack("<f", float(text)) == struct.pack("<f", value))))


def date_text(days: int) -> str:
    """ISO 8601 of a number of days since 1970-01-01, with years as Spark writes them: 0000 is 1 BC, -0001, +10000."""
    cycles, day = divmod(days + EPOCH - 1, DAYS_IN_400_YEARS)
    in_cycle = date.fromordinal(day + 1)
    year = in_cycle.year + cycles * 400
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{in_cycle.month:02d}-{in_cycle.day:02d}"


def timestamp_ntz_text(microseconds: int) -> str:
    """ISO 8601 of a number of microseconds since 1970-01-01 00:00; six digits of a second where there are any."""
    days, rest = divmod(microseconds, MICROSECONDS_IN_A_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{date_text(days)}T{time}{f'.{fraction:06d}' if fraction else ''}"


def timestamp_text(microseconds: int) -> str:
    """As `timestamp_ntz_text`, with the offset of UTC."""
    return timestamp_ntz_text(microseconds) + "+00:00"


def repeated(names: list[str]) -> list[str]:
    """The names that are there more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def structs_in(data_type: types.DataType) -> Iterator[types.StructType]:
    """The structs that a type contains, itself too."""
    if isinstance(data_type, types.StructType):
        yield data_type
        for field in data_type:
            yield from structs_in(field.dataType)
    elif isinstance(data_type, types.ArrayType):
        yield from structs_in(data_type.elementType)
    elif isinstance(data_type, types.MapType):
        yield from structs_in(data_type.keyType)
        yield from structs_in(data_type.valueType)


_SCALARS: tuple[tuple[Any, Text], ...] = (
    (types.NullType, str),
    (types.BooleanType, lambda value: "true" if value else "false"),
    (types.IntegralType, str),
    (types.DecimalType, decimal_text),
    (types.DoubleType, double_text),
    (types.FloatType, float_text),
    (types.DateType, date_text),
    (types.TimestampType, timestamp_text),
    (types.TimestampNTZType, timestamp_ntz_text),
)
