"""Values in what HiveServer2's protocol carries without a loss.

It has columns of booleans, whole numbers, floats, texts and bytes. Spark (3.5) sends anything else as a text that
people read: times in the session's zone, nested values with no quotes escaped, texts that are not UTF-8 with other
characters in their place. So a query is wrapped in one that sends numbers, bytes and JSON of both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types

from . import QueryError
from .values import arrow_type, transport_type

# A value as Python's JSON or PyHive has it, as PyArrow takes it for `raw_type`.
Decode = Callable[[Any], Any]

_SCALARS: dict[str, types.DataType] = {
    data_type.simpleString(): data_type
    for data_type in (
        types.NullType(),
        types.BooleanType(),
        types.ByteType(),
        types.ShortType(),
        types.IntegerType(),
        types.LongType(),
        types.FloatType(),
        types.DoubleType(),
        types.StringType(),
        types.BinaryType(),
        types.DateType(),
        types.TimestampType(),
        types.TimestampNTZType(),
    )
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_CHARACTERS = re.compile(r"(var)?char\(\d+\)")
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")
_YEAR_MONTH = {"year": 0, "month": 1}
_DAY_TIME = {"day": 0, "hour": 1, "minute": 2, "second": 3}


def scalar_type(text: str) -> types.DataType:
    """The type that ``describe query`` names, none with other types in it.

    Raises:
        QueryError: it has values that cannot be shown.
    """
    if text in _SCALARS:
        return _SCALARS[text]
    if decimal := _DECIMAL.fullmatch(text):
        return types.DecimalType(int(decimal[1]), int(decimal[2]))
    if _CHARACTERS.fullmatch(text):
        return types.StringType()
    if interval := _INTERVAL.fullmatch(text):
        first, last = interval[1], interval[2] or interval[1]
        if first in _YEAR_MONTH:
            return types.YearMonthIntervalType(_YEAR_MONTH[first], _YEAR_MONTH[last])
        return types.DayTimeIntervalType(_DAY_TIME[first], _DAY_TIME[last])
    raise QueryError("A column has a type that cannot be shown: cast it to string.")


def raw_type(data_type: types.DataType) -> pa.DataType:
    """The Arrow type of decoded values: its layout is that of the column's own type, and it takes any bytes as text."""
    return arrow_type(_with_bytes(transport_type(data_type)), is_plain=True)


def _with_bytes(data_type: types.DataType) -> types.DataType:
    if isinstance(data_type, types.StringType):
        return types.BinaryType()
    if isinstance(data_type, types.ArrayType):
        return types.ArrayType(_with_bytes(data_type.elementType))
    if isinstance(data_type, types.MapType):
        return types.MapType(_with_bytes(data_type.keyType), _with_bytes(data_type.valueType))
    if isinstance(data_type, types.StructType):
        return types.StructType([types.StructField(field.name, _with_bytes(field.dataType)) for field in data_type])
    return data_type


def sent(data_type: types.DataType, column: str) -> str:
    """The SQL expression that sends a column.

    Args:
        data_type: the column's type.
        column: an expression for it.
    """
    if isinstance(data_type, types.StringType):
        return f"cast({column} as binary)"
    if isinstance(data_type, types.BinaryType):
        return column
    if _is_nested(data_type):
        numbered = _numbered(data_type)
        return f"to_json({_in_json(numbered, f'cast({column} as {numbered.simpleString()})', 0)})"
    return _in_json(data_type, column, 0)


def _is_nested(data_type: types.DataType) -> bool:
    return isinstance(data_type, types.ArrayType | types.MapType | types.StructType)


def _numbered(data_type: types.DataType) -> types.DataType:
    """Fields of structs with their numbers as names: those of Spark may be there twice, or differ in case alone."""
    if isinstance(data_type, types.ArrayType):
        return types.ArrayType(_numbered(data_type.elementType))
    if isinstance(data_type, types.MapType):
        return types.MapType(_numbered(data_type.keyType), _numbered(data_type.valueType))
    if isinstance(data_type, types.StructType):
        return types.StructType(
            [types.StructField(f"f{number}", _numbered(field.dataType)) for number, field in enumerate(data_type)]
        )
    return data_type


def _in_json(data_type: types.DataType, value: str, depth: int) -> str:
    """The SQL expression that has a value as JSON can have it, with no digit lost."""
    element = f"x{depth}"
    if isinstance(data_type, types.ArrayType):
        return f"transform({value}, {element} -> {_in_json(data_type.elementType, element, depth + 1)})"
    if isinstance(data_type, types.MapType):
        key = _in_json(data_type.keyType, f"{element}.key", depth + 1)
        item = _in_json(data_type.valueType, f"{element}.value", depth + 1)
        return f"transform(map_entries({value}), {element} -> named_struct('f0', {key}, 'f1', {item}))"
    if isinstance(data_type, types.StructType):
        fields = [f"'{field.name}', {_in_json(field.dataType, f'{value}.{field.name}', depth)}" for field in data_type]
        return f"if({value} is null, null, named_struct({', '.join(fields)}))"
    if isinstance(data_type, types.StringType | types.BinaryType):
        return f"hex({value})"
    if isinstance(data_type, types.FloatType):
        return f"cast(cast({value} as double) as string)"  # of its own digits another float could be the nearest
    if isinstance(data_type, types.DateType):
        return f"unix_date({value})"
    if isinstance(data_type, types.TimestampType):
        return f"unix_micros({value})"
    if isinstance(data_type, types.TimestampNTZType):
        # A cast to `timestamp` would ask the session for its zone. Sums that run over come back.
        return (
            f"unix_date(cast({value} as date)) * 86400000000L + hour({value}) * 3600000000L"
            f" + minute({value}) * 60000000L + cast(extract(second from {value}) * 1000000L as bigint)"
        )
    if isinstance(data_type, types.NullType | types.BooleanType | types.IntegralType):
        return value
    return f"cast({value} as string)"


def received(data_type: types.DataType) -> Decode:
    """The function that decodes what `sent` has sent; NULL is not given to it."""
    if isinstance(data_type, types.StringType | types.BinaryType):
        return lambda value: value
    if _is_nested(data_type):
        decode = _of_json(data_type)
        return lambda value: decode(json.loads(value))
    return _of_json(data_type)


def _of_json(data_type: types.DataType) -> Decode:
    if isinstance(data_type, types.ArrayType):
        element = _nullable(_of_json(data_type.elementType))
        return lambda value: [element(one) for one in value]
    if isinstance(data_type, types.MapType):
        key, item = _of_json(data_type.keyType), _nullable(_of_json(data_type.valueType))
        return lambda value: [(key(entry["f0"]), item(entry.get("f1"))) for entry in value]
    if isinstance(data_type, types.StructType):
        fields = [
            (str(number), f"f{number}", _nullable(_of_json(field.dataType))) for number, field in enumerate(data_type)
        ]
        return lambda value: {name: field(value.get(sent_as)) for name, sent_as, field in fields}
    if isinstance(data_type, types.StringType | types.BinaryType):
        return bytes.fromhex
    if isinstance(data_type, types.FloatType | types.DoubleType):
        return float
    if isinstance(data_type, types.DecimalType):
        return Decimal
    if isinstance(data_type, types.YearMonthIntervalType | types.DayTimeIntervalType):
        return lambda value: value.encode()
    return lambda value: value


def _nullable(decode: Decode) -> Decode:
    return lambda value: None if value is None else decode(value)


def record_batch(fields: list[types.StructField], decoders: list[Decode], rows: list[tuple[Any, ...]]) -> pa.Buffer:
    """Rows as a record batch that can be read with the schema of `Result.schema`."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in fields)
    arrays = [
        pa.array([None if value is None else decode(value) for value in column], raw_type(field.dataType))
        for field, decode, column in zip(fields, decoders, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[field.name for field in fields]).serialize()
