"""Defaults of columns that were added later, as the text that Spark casts to the column's type."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from alluvium.spark_udfs import decimal_text
from alluvium.spark_udfs import semantic_types as names

from .types import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, VARIABLE_SCALE, JsonNumber

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schemas import Schema
    from .types import ProposedType

_EPOCH = datetime(1970, 1, 1)  # of a type without a time zone
_NUMBER = re.compile(r"^[+-]?\d+([.]\d*)?(E[+-]?\d+)?$", re.IGNORECASE)
_BITS = re.compile(r"^b'([01]+)'$", re.IGNORECASE)
_TIME = re.compile(r"^(-?)(\d{2,3}):(\d\d):(\d\d)(?:[.](\d{1,6}))?$")
# What a database computes anew for each row: a function, an expression in brackets, the words of the current time.
_EXPRESSION = re.compile(r"^(\w*\s*\(.*\)|(CURRENT|UTC)_\w+|NOW|LOCALTIME\w*|NULL)$", re.IGNORECASE | re.DOTALL)

_MICROSECONDS = {
    names.TIMESTAMP: 1000,
    CONNECT_TIMESTAMP: 1000,
    names.MICRO_TIMESTAMP: 1,
    names.TIME: 1000,
    CONNECT_TIME: 1000,
    names.MICRO_TIME: 1,
}
_NANOSECONDS = (names.NANO_TIMESTAMP, names.NANO_TIME)


def default_by_schema(schema: Schema, proposed: ProposedType) -> Any | None:
    """What to write for the default that a schema has.

    Args:
        schema: the column's; its default is as JsonConverter writes it, bytes in base64.
        proposed: the column's type.

    Returns:
        a number or a text; None where no text casts to it, or where it stands for another value: connectors send
        the beginning of 1970 for a default that the database computes, as the current time.
    """
    try:
        return _BY_TYPE.get(_base_type(proposed), _by_plain_schema)(schema)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def default_by_declaration(expression: str, proposed: ProposedType) -> str | None:
    """What to write for the default that a schema change of MySQL or MariaDB has.

    Args:
        expression: as the connector sends it.
        proposed: the column's type.

    Returns:
        a text; None for an expression, for a time without the zone that its column has, and for what does not fit.
    """
    try:
        return _BY_DECLARED_TYPE.get(_base_type(proposed), _declared_number)(expression, proposed)
    except ValueError:
        return None


def _base_type(proposed: ProposedType) -> str:
    return re.split(r"[(<]", proposed.data_type)[0]


def _date(schema: Schema) -> str | None:
    if schema.name in (names.DATE, CONNECT_DATE):
        return (date(1970, 1, 1) + timedelta(days=schema.default)).isoformat() if schema.default else None
    return date.fromisoformat(schema.default.removesuffix("Z")).isoformat()


def _local_timestamp(schema: Schema) -> str | None:
    if isinstance(schema.default, str):
        return _after_epoch(datetime.fromisoformat(schema.default.removesuffix("Z")))
    return _after_epoch(_EPOCH + timedelta(microseconds=_microseconds(schema)))


def _after_epoch(moment: datetime) -> str | None:
    return None if moment == _EPOCH else moment.isoformat(sep=" ")


# What `_default_rule` takes (macros/feeds/feed_defaults.sql).
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.]\d{1,6})?(Z|[+-]\d\d:\d\d)$")


def _timestamp(schema: Schema) -> str | None:
    default = str(schema.default)
    is_known = _TIMESTAMP.match(default) and not default.startswith("1970-01-01T00:00:00")
    return default if is_known else None


def _microseconds(schema: Schema) -> int:
    value = int(schema.default)
    if schema.name not in _NANOSECONDS:
        return value * _MICROSECONDS[str(schema.name)]
    if value % 1000:
        raise ValueError("more digits than microseconds")
    return value // 1000


def _decimal(schema: Schema) -> str | None:
    if isinstance(schema.default, JsonNumber | int):
        return str(schema.default)
    return decimal_text(schema.default, schema.scale)


def _text(schema: Schema) -> str | None:
    if schema.name == VARIABLE_SCALE:
        return decimal_text(schema.default["value"], schema.default["scale"])
    if schema.name in _MICROSECONDS or schema.name in _NANOSECONDS:
        return _time_of_day(_microseconds(schema))
    if schema.type == "bytes":
        return None
    if isinstance(schema.default, str):
        return str(schema.default)
    return json.dumps(schema.default, separators=(",", ":"), ensure_ascii=False)


def _time_of_day(microseconds: int) -> str:
    """As the macros write it (`_decode_time`)."""
    seconds, fraction = divmod(abs(microseconds), 10**6)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{'-' if microseconds < 0 else ''}{hour:02d}:{minute:02d}:{second:02d}.{fraction:06d}"


def _boolean(schema: Schema) -> str:
    return str(bool(schema.default)).lower()


def _nothing(_: Any) -> None:
    """Spark casts no text to an array or a map, and of bytes a text does not say whether it is base64."""


def _by_plain_schema(schema: Schema) -> Any:
    return schema.default if type(schema.default) is int else str(schema.default)


_BY_TYPE: dict[str, Callable[[Schema], Any]] = {
    "date": _date,
    "timestamp_ntz": _local_timestamp,
    "timestamp": _timestamp,
    "decimal": _decimal,
    "string": _text,
    "binary": _nothing,
    "boolean": _boolean,
    "array": _nothing,
    "map": _nothing,
}


def _declared_number(expression: str, proposed: ProposedType) -> str | None:
    bits = _BITS.match(expression)
    if bits:
        return str(int(bits[1], 2))
    if not _NUMBER.match(expression):
        return None
    scale = re.search(r",\s*(\d+)\)", proposed.data_type)
    # Spark's cast would round what the column has no room for.
    if proposed.data_type not in ("float", "double") and not _has_scale(expression, int(scale[1]) if scale else 0):
        return None
    return expression


def _has_scale(number: str, scale: int) -> bool:
    exponent = Decimal(number).normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= scale


def _declared_boolean(expression: str, proposed: ProposedType) -> str | None:
    number = _declared_number({"true": "1", "false": "0"}.get(expression.lower(), expression), proposed)
    return None if number is None else str(int(number) != 0).lower()


def _declared_text(expression: str, proposed: ProposedType) -> str | None:
    if proposed.semantic_type in _MICROSECONDS:
        time = _TIME.match(expression)
        return f"{time[1]}{time[2]}:{time[3]}:{time[4]}.{time[5] or '':0<6}" if time else None
    return None if _EXPRESSION.match(expression) else expression


_BY_DECLARED_TYPE: dict[str, Callable[[str, ProposedType], str | None]] = {
    "date": lambda expression, _: date.fromisoformat(expression).isoformat(),
    "timestamp_ntz": lambda expression, _: _after_epoch(datetime.fromisoformat(expression)),
    "timestamp": lambda _expression, _: None,
    "string": _declared_text,
    "binary": lambda _expression, _: None,
    "boolean": _declared_boolean,
}
