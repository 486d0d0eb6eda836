"""Which Spark type a column shall have, and why: from its schema, or from its values where there is none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from alluvium.spark_udfs import semantic_types as names

if TYPE_CHECKING:
    from .schemas import Schema

MAX_PRECISION = 38
"""Digits of the widest decimal of Spark (DecimalType.MAX_PRECISION)."""


@dataclass(frozen=True)
class ProposedType:
    """A column's type.

    Attributes:
        data_type: of Spark, as sources.yml has it.
        why: where it is from, in a few words.
        semantic_type: to declare beside it, or None.
        question: what the files cannot tell and only the source knows, or None.
        is_unsigned: whether it is MySQL's or MariaDB's ``bigint unsigned``.
    """

    data_type: str
    why: str
    semantic_type: str | None = None
    question: str | None = None
    is_unsigned: bool = False


_PRIMITIVES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "binary",
}
CONNECT_DATE = "org.apache.kafka.connect.data.Date"
CONNECT_TIME = "org.apache.kafka.connect.data.Time"
CONNECT_TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
ISO_DATE = "io.debezium.time.IsoDate"
ISO_TIME = "io.debezium.time.IsoTime"
ISO_TIMESTAMP = "io.debezium.time.IsoTimestamp"
_DATES = {names.DATE, CONNECT_DATE, ISO_DATE}
_LOCAL_TIMESTAMPS = {names.TIMESTAMP, names.MICRO_TIMESTAMP, names.NANO_TIMESTAMP, CONNECT_TIMESTAMP, ISO_TIMESTAMP}
_TIMES = {names.TIME, names.MICRO_TIME, names.NANO_TIME, CONNECT_TIME, ISO_TIME, "io.debezium.time.ZonedTime"}
TEXT_OF_DECIMAL = "decimal"
VARIABLE_SCALE = "io.debezium.data.VariableScaleDecimal"
_ZONED_TIMESTAMP = "io.debezium.time.ZonedTimestamp"


def propose_from_schema(schema: Schema) -> ProposedType:
    """The type of a column that the records' own schema describes.

    Args:
        schema: the column's, the latest one where it changed.
    """
    why = schema.name or schema.type
    if schema.name in _DATES:
        return ProposedType("date", why)
    if schema.name in _LOCAL_TIMESTAMPS:
        # A schema in the record says the unit; beside it the declaration serves lines that have none.
        return ProposedType("timestamp_ntz", why, schema.name)
    if schema.name == _ZONED_TIMESTAMP:
        return ProposedType("timestamp", why)
    if schema.name in _TIMES:
        return ProposedType("string", f"{why}: Spark has no time of day", schema.name)
    if _is_of_variable_scale(schema):
        return ProposedType("string", f"{why}: every value has a scale of its own", VARIABLE_SCALE)
    if schema.scale is not None:
        return _propose_decimal(schema)
    if schema.type == "array" and schema.items:
        element = propose_from_schema(schema.items)
        return ProposedType(f"array<{element.data_type}>", f"array of {element.why}")
    if schema.type == "map":
        return ProposedType("map<string,string>", "map")
    if schema.type == "uint64":
        return ProposedType("decimal(20,0)", why, TEXT_OF_DECIMAL)
    if schema.type in ("struct", "unknown"):
        return ProposedType("string", f"{why}: kept as its JSON text")
    return ProposedType(_PRIMITIVES[schema.type], why)


def _is_of_variable_scale(schema: Schema) -> bool:
    """A file of Parquet without the schema of Avro has the fields, and not the name."""
    stored = {name: said.type for name, said in schema.fields.items()}
    return schema.name == VARIABLE_SCALE or (schema.name is None and stored == {"scale": "int32", "value": "bytes"})


def _propose_decimal(schema: Schema) -> ProposedType:
    scale = schema.scale or 0
    precision = schema.precision or MAX_PRECISION
    why = f"decimal of {schema.precision or 'any number of'} digits, {scale} after the point"
    if precision > MAX_PRECISION or not 0 <= scale <= MAX_PRECISION:
        return ProposedType("string", f"{why}: more than Spark's {MAX_PRECISION}", schema.name)
    return ProposedType(f"decimal({precision},{scale})", why)


_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
# As Debezium writes a date with time.precision.mode=isostring.
_DATE_WITH_ZONE = re.compile(r"^[+-]?\d{4,9}-\d\d-\d\dZ$")
# Debezium writes infinity in this word, or with a year of nine digits; Java leaves out seconds that are zero.
_ISO_ZONED = re.compile(
    r"^[+-]?\d{4,9}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d+)?)?(Z|[+-]\d\d(:?\d\d){0,2})$"
    r"|^-?infinity$"
)
_ISO_LOCAL = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d+)?)?$")
ISO_DATES = "date with Z"
"""What texts look like that are dates."""
_BASE64 = re.compile(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
# Java writes a decimal of a large or a negative scale with an exponent, and always with its sign.
_NUMBER = re.compile(r"^-?\d+([.]\d+)?(E[+-]\d+)?$", re.IGNORECASE)
# Words, also joined (OrderPlaced) and numbered (item12), codes of one case and digits (DE89, a1b2), and paths of them.
_WORD = r"(?:(?:[A-Z]?[a-z]+|(?:[a-z]{2,})?(?:[A-Z][a-z]{2,})+)\d*|[A-Z\d]+|[a-z\d]+)"
_WORDS = re.compile(rf"^/?{_WORD}(?:/{_WORD})*$")
_TIME_NAME = re.compile(r"(_at|_ts|_on|date|time|timestamp|created|updated|birth|born|last_update)$", re.IGNORECASE)
# Units of the times that occur: days up to the year 4707, milliseconds and microseconds from 1973 to 5138, nanoseconds
# from 1973 to the end of 64 bits.
_UNITS = (
    ("days", 0, 10**6),
    ("milliseconds", 10**11, 10**14),
    ("microseconds", 10**14, 10**17),
    ("nanoseconds", 10**17, 2**63),
)
_MOST = 0.8
_MAX_WORDS = 8
_MAX_WORD_LENGTH = 16


@dataclass
class Values:
    """What the values of a column without a schema look like; fed one by one.

    Attributes:
        kinds: number of values by what they look like.
        units: number of whole numbers by the unit of time that they could count since 1970.
        elements: number of the arrays' elements by what they look like.
        lowest: of the whole numbers, those in arrays too, or None.
        highest: likewise.
        has_offsets: whether a zoned time has another zone than Z, or is infinite, as no local time is.
        words: the different texts, as far as they are few and short.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    elements: Counter[str] = field(default_factory=Counter)
    lowest: int | None = None
    highest: int | None = None
    has_offsets: bool = False
    words: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Take a value as ``json.loads`` gives it, with fractions as text marked by :class:`JsonNumber`."""
        kind = _kind_of(value)
        self.kinds[kind] += 1
        if kind == "integer":
            self._add_integer(value)
        elif kind == "array":
            self.elements.update(map(_kind_of, value))
            for element in value:
                if type(element) is int:
                    self._widen(element)
        elif kind == "zoned" and not value.endswith("Z"):
            self.has_offsets = True
        elif len(self.words) < _MAX_WORDS and type(value) is str:
            self.words.add(value[:_MAX_WORD_LENGTH])

    def _widen(self, value: int) -> None:
        self.lowest = value if self.lowest is None or value < self.lowest else self.lowest
        self.highest = value if self.highest is None or value > self.highest else self.highest

    def _add_integer(self, value: int) -> None:
        self._widen(value)
        size = abs(value)
        for unit, low, high in _UNITS:
            if low <= size < high:
                self.units[unit] += 1

    @property
    def looks(self) -> set[str]:
        """What the values look like that are not NULL."""
        return set(self.kinds.keys() - {"null"})

    @property
    def unit(self) -> str | None:
        """The unit in which most of the whole numbers would be times since 1970, or None."""
        return next((unit for unit, count in self.units.items() if count >= _MOST * self.kinds["integer"]), None)

    @property
    def present(self) -> int:
        """Number of values that are not NULL."""
        return sum(self.kinds.values()) - self.kinds["null"]

    @property
    def are_iso_times(self) -> bool:
        """Whether they are dates, or dates and times without a zone, in ISO 8601."""
        return self.looks in ({"date"}, {"local"})


class JsonNumber(str):
    """The text of a JSON number with a fraction or an exponent."""

    __slots__ = ()


class Milliseconds(int):
    """A time in a document of MongoDB, in milliseconds since 1970."""


class DecimalText(str):
    """The text of a decimal in a document of MongoDB."""

    __slots__ = ()


class Base64(str):
    """Bytes in a document of MongoDB, in base64."""

    __slots__ = ()


class Text(str):
    """A text or an id in a document of MongoDB that may look like bytes or a number, and is neither."""

    __slots__ = ()


_KINDS = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "double",
    JsonNumber: "fraction",
    list: "array",
    Milliseconds: "milliseconds",
    DecimalText: "decimal",
    Base64: "bytes",
    Text: "text",
}


def is_like_bytes_or_number(value: str) -> bool:
    """Whether a text may be bytes in base64, or a decimal."""
    return _kind_of(value) in ("base64", "number")


def _kind_of(value: Any) -> str:
    kind = _KINDS.get(type(value))
    if kind:
        return kind
    if isinstance(value, dict):
        return "variable_scale" if value.keys() == {"scale", "value"} else "object"
    # Longer texts seldom come again, and would fill the memory.
    return _kind_of_short_text(value) if len(value) <= _MAX_REMEMBERED else _kind_of_text(value)


_KINDS_OF_TEXTS = (
    ("date", _DATE),
    (ISO_DATES, _DATE_WITH_ZONE),
    ("zoned", _ISO_ZONED),
    ("local", _ISO_LOCAL),
    ("number", _NUMBER),
)


def _kind_of_text(value: str) -> str:
    if value[:1].isdigit() or value[:1] in ("+", "-"):
        for kind, pattern in _KINDS_OF_TEXTS:
            if pattern.match(value):
                return kind
    elif value == "infinity":
        return "zoned"
    if len(value) % 4 == 0 and _BASE64.match(value):
        # Nothing, and words of four or eight letters, are base64 by chance; what is in no word tells.
        return "word" if not value or _WORDS.match(value) else "base64"
    return "text"


_MAX_REMEMBERED = 40
# A column has few values, or each line another one: the first kind is worth remembering.
_kind_of_short_text = lru_cache(maxsize=20_000)(_kind_of_text)


def propose_from_values(
    name: str, values: Values, schema: Schema | None = None, connector: str | None = None
) -> ProposedType:
    """The type of a column whose records do not say what it means; what values cannot say is asked.

    Args:
        name: of the column.
        values: what was seen of it.
        schema: how its values are stored, where the file says that much.
        connector: of the records, or None.
    """
    kinds = values.looks
    count = sum(values.kinds.values())
    # Beside texts that are none, what could be base64 is a word.
    seen = {"word" if kind == "base64" and "text" in kinds else kind for kind in kinds}
    why = f"{' and '.join(sorted(seen))} in {count} values" if kinds else f"only nulls in {count} values"
    if not kinds:
        return ProposedType("string", why, question=f"{name} was never there: which type has it in the source?")
    if kinds == {"boolean"}:
        return ProposedType("boolean", why)
    if kinds == {"integer"}:
        stored_as = "int" if schema and schema.type == "int32" else "bigint"
        return _propose_integer(name, values, why, stored_as, has_zone=connector == "mongodb")
    if kinds <= {"integer", "fraction"}:
        return ProposedType(
            "double", why, question=f"{name} has fractions: is it a decimal in the source, and of which scale?"
        )
    if kinds == {ISO_DATES}:
        return ProposedType("date", why, ISO_DATE)
    if kinds == {"zoned"}:
        # Of MongoDB a time is milliseconds where nothing else is declared.
        semantic_type = _ZONED_TIMESTAMP if connector == "mongodb" else None
        is_asked = connector in WITH_LOCAL_TIMES and not values.has_offsets
        return ProposedType("timestamp", why, semantic_type, question_of_zone(name) if is_asked else None)
    if kinds & _KINDS_OF_DOCUMENTS:
        return _propose_from_document(name, kinds, why)
    if kinds == {"variable_scale"}:
        return ProposedType("string", why, VARIABLE_SCALE)
    if kinds == {"array"}:
        elements = {kind for kind in values.elements if kind != "null"}
        if elements == {ISO_DATES}:
            return ProposedType("array<date>", why, ISO_DATE)
        is_asked = may_be_base64(elements)
        return ProposedType(
            "array<bigint>" if elements == {"integer"} else "array<string>",
            why,
            question=f"{name} has elements that look like {_BASE64_QUESTION}" if is_asked else None,
        )
    if may_be_base64(kinds):
        return ProposedType("string", why, question=f"{name} looks like {_BASE64_QUESTION}")
    if kinds == {"number"}:
        return _propose_number_text(name, why)
    return ProposedType("string", why)


WITH_LOCAL_TIMES = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle")
"""Connectors whose tables have times with a zone and times without, which isostring mode both writes with a Z."""


def question_of_zone(name: str) -> str:
    """What to ask of texts with a Z, of which nothing says whether that is a zone."""
    return (
        f"{name}: with time.precision.mode=isostring a time without a zone has a Z, too. Is it one? Then set "
        f"data_type: timestamp_ntz and semantic_type: {ISO_TIMESTAMP}, else data_type: timestamp."
    )


def _propose_number_text(name: str, why: str) -> ProposedType:
    return ProposedType("string", why, question=f"{name} has numbers as texts: is it a decimal, and of which scale?")


_KINDS_OF_DOCUMENTS = {"double", "milliseconds", "decimal", "bytes"}


def _propose_from_document(name: str, kinds: set[str], why: str) -> ProposedType:
    """The type of a field of MongoDB's documents, which say of some values what they are."""
    if kinds == {"milliseconds"}:
        return ProposedType("timestamp", why)
    if kinds == {"bytes"}:
        return ProposedType("binary", why)
    if kinds <= {"integer", "double"}:
        return ProposedType("double", why)
    if kinds <= {"integer", "double", "decimal"}:
        return _propose_number_text(name, why)
    if kinds == {"milliseconds", "zoned"}:
        question = f"{name} has times as numbers and as texts: which of them shall be read (semantic_type)?"
        return ProposedType("timestamp", why, _ZONED_TIMESTAMP, question)
    return ProposedType("string", why)


_BASE64_QUESTION = "base64: is it bytes, or a decimal, and of which scale?"


def may_be_base64(kinds: set[str]) -> bool:
    """Whether such values may be base64; short ones look like words by chance, one that is no word tells of all."""
    return "base64" in kinds and kinds <= {"base64", "word", "number"}


_BIGINT = range(-(2**63), 2**63)


def _propose_wide_integer(lowest: int, highest: int, why: str) -> ProposedType:
    if lowest >= 0 and highest < 2**64:
        return ProposedType("decimal(20,0)", f"{why}: more than a bigint", TEXT_OF_DECIMAL)
    if max(abs(lowest), abs(highest)) < 10**MAX_PRECISION:
        return ProposedType(f"decimal({MAX_PRECISION},0)", f"{why}: more than a bigint", TEXT_OF_DECIMAL)
    return ProposedType("string", f"{why}: more digits than Spark's {MAX_PRECISION}")


def _propose_integer(name: str, values: Values, why: str, stored_as: str, *, has_zone: bool) -> ProposedType:
    lowest, highest = values.lowest or 0, values.highest or 0
    if lowest not in _BIGINT or highest not in _BIGINT:
        return _propose_wide_integer(lowest, highest, f"{why}, from {lowest} to {highest}")
    unit = values.unit
    if unit is None or not _TIME_NAME.search(name):
        return ProposedType(stored_as, f"{why}, from {lowest} to {highest}")
    data_type, semantic_type = TYPES_OF_UNITS[unit]
    # No time of MongoDB's is a local one.
    data_type = "timestamp" if has_zone and data_type == "timestamp_ntz" else data_type
    return ProposedType(
        data_type,
        f"its name, and numbers as large as {unit} since 1970",
        semantic_type,
        f"{name}: does it count {unit} since 1970? Then say data_type: {data_type}, else data_type: {stored_as}.",
    )


TYPES_OF_UNITS = {
    "days": ("date", None),
    "milliseconds": ("timestamp_ntz", names.TIMESTAMP),
    "microseconds": ("timestamp_ntz", names.MICRO_TIMESTAMP),
    "nanoseconds": ("timestamp_ntz", names.NANO_TIMESTAMP),
}
"""Type and semantic type of times since 1970, by their unit."""
