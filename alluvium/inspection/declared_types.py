"""Types that schema changes declare, compared with the values: no declaration says how a connector sends them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from alluvium.spark_udfs import semantic_types as names

from .types import (
    ISO_DATE,
    ISO_DATES,
    ISO_TIME,
    ISO_TIMESTAMP,
    MAX_PRECISION,
    TEXT_OF_DECIMAL,
    TYPES_OF_UNITS,
    Values,
    propose_from_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .schemas import Schema
    from .types import ProposedType

_BYTES = {"base64", "word", "number"}
"""What bytes in base64 look like; by chance like a word or a number."""
_NUMBERS = {"integer", "fraction"}
_LOOKS = {
    "tinyint": {"integer"},
    "smallint": {"integer"},
    "int": {"integer"},
    "bigint": {"integer"},
    "float": _NUMBERS,
    "double": _NUMBERS,
    "boolean": {"boolean", "integer"},
    "date": {"integer"},
    "timestamp": {"zoned"},
    "timestamp_ntz": {"integer"},
    "binary": _BYTES,
    "decimal": _BYTES | _NUMBERS,
}
"""What the values of each type look like, as far as the macros take them; those of a text may be anything."""
_DAY = 24 * 60 * 60 * 1000
"""Milliseconds of a day; as microseconds they are a minute and a half."""
_TIMESTAMPS = {unit: semantic_type for unit, (_, semantic_type) in TYPES_OF_UNITS.items() if semantic_type}
_BITS = "io.debezium.data.Bits"


def checked_against_values(
    declared: Mapping[str, ProposedType], seen: Mapping[str, Values], described: Mapping[str, Schema]
) -> dict[str, ProposedType]:
    """The types of a table's columns as their values have them; where these are in doubt, with a question.

    Args:
        declared: by schema changes.
        seen: what was seen of each column.
        described: schemas of the columns, as far as the records have them.
    """
    nothing = Values()
    found = {
        name: _checked(name, proposed, seen.get(name, nothing), described.get(name))
        for name, proposed in declared.items()
    }
    other = next((name for name, proposed in found.items() if _counts_otherwise(proposed, declared[name])), None)
    if other is None:
        return found
    # The connector has one mode for all of them.
    return {
        name: replace(proposed, question=_question_of_no_unit(name, proposed, other))
        if name not in described and _counts_unseen(proposed, seen.get(name, nothing))
        else proposed
        for name, proposed in found.items()
    }


def is_decimal(proposed: ProposedType) -> bool:
    """Whether a declared column is a decimal, which ``decimal.handling.mode`` writes in one way or another."""
    return _is_long_decimal(proposed) or (proposed.data_type.startswith("decimal") and not proposed.is_unsigned)


def _is_long_decimal(proposed: ProposedType) -> bool:
    return proposed.data_type == "string" and proposed.semantic_type == TEXT_OF_DECIMAL


def _checked(name: str, declared: ProposedType, values: Values, schema: Schema | None) -> ProposedType:
    looks = values.looks
    if schema and schema.name:
        # Of times of day and of long decimals the declaration goes before what the record says.
        return replace(declared, semantic_type=propose_from_schema(schema).semantic_type or declared.semantic_type)
    if _is_long_decimal(declared):
        is_text = looks == {"number"}
        return (
            declared if is_text else replace(declared, semantic_type=None, question=_question_of_digits(name, declared))
        )
    if not looks:
        return declared
    if declared.semantic_type == names.MICRO_TIME:
        return _time_of_day(name, declared, values)
    if declared.data_type == "date" and looks in ({"date"}, {ISO_DATES}):
        return replace(declared, semantic_type=ISO_DATE)
    if declared.data_type == "timestamp_ntz" and looks <= {"zoned", "local"}:
        return replace(declared, semantic_type=ISO_TIMESTAMP)
    base = re.split(r"[(]", declared.data_type)[0]
    expected = _BYTES if declared.semantic_type == _BITS else _LOOKS.get(base, looks)
    if not looks <= expected:
        return _of_other_values(name, declared, looks)
    return _local_timestamp(name, declared, values) if declared.data_type == "timestamp_ntz" else declared


def _local_timestamp(name: str, declared: ProposedType, values: Values) -> ProposedType:
    units = {unit: semantic_type for unit, semantic_type in _TIMESTAMPS.items() if values.units[unit]}
    for unit, semantic_type in units.items():
        if unit == values.unit and semantic_type != declared.semantic_type:
            return _counted_in(f"{unit} since 1970", name, declared, semantic_type)
    if values.unit is None and len(units) > 1:
        question = (
            f"{name} is {_in_the_source(declared)}: do its numbers count {' or '.join(units)} since 1970? They are as "
            f"large as either. Say data_type: {declared.data_type} with its semantic_type."
        )
        return replace(declared, question=question)
    return declared


def _time_of_day(name: str, declared: ProposedType, values: Values) -> ProposedType:
    if values.looks == {"text"}:
        return replace(declared, semantic_type=ISO_TIME)
    if values.looks != {"integer"}:
        return _of_other_values(name, declared, values.looks)
    if 0 < _largest(values) <= _DAY:
        return _counted_in("milliseconds since midnight", name, declared, names.TIME)
    return declared


def _largest(values: Values) -> int:
    return max(abs(values.lowest or 0), abs(values.highest or 0))


def _counted_in(unit: str, name: str, declared: ProposedType, semantic_type: str) -> ProposedType:
    question = (
        f"{name} is {_in_the_source(declared)}, and its numbers are as large as {unit}: does it count those? Then say "
        f"data_type: {declared.data_type}, else also semantic_type: {declared.semantic_type}."
    )
    return replace(declared, semantic_type=semantic_type, question=question)


def _of_other_values(name: str, declared: ProposedType, looks: Iterable[str]) -> ProposedType:
    question = (
        f"{name} is {_in_the_source(declared)}, and its values look like {' and '.join(sorted(looks))}: which "
        f"data_type has it, and how does the connector send it? {declared.data_type} takes other ones."
    )
    return replace(declared, semantic_type=None, question=question)


def _question_of_digits(name: str, declared: ProposedType) -> str:
    return (
        f"which decimal of up to {MAX_PRECISION} digits holds all values of {name}, {_in_the_source(declared)}? "
        "Without a schema nothing says the scale of bytes. Where none does, have the connector send texts "
        f"(decimal.handling.mode=string), and say data_type: string with semantic_type: {TEXT_OF_DECIMAL}."
    )


def _question_of_no_unit(name: str, proposed: ProposedType, other: str) -> str:
    return (
        f"{name} is {_in_the_source(proposed)}: which unit have its numbers? No value tells, and {other} has another "
        f"one than is usual. Say data_type: {proposed.data_type} with its semantic_type."
    )


def _in_the_source(proposed: ProposedType) -> str:
    return f"{proposed.why.partition(':')[0]} in the source"


def _counts_otherwise(proposed: ProposedType, declared: ProposedType) -> bool:
    return proposed.question is not None and proposed.semantic_type not in (None, declared.semantic_type)


def _counts_unseen(proposed: ProposedType, values: Values) -> bool:
    """Whether no value shows the unit of a local time."""
    if proposed.question:
        return False
    if proposed.semantic_type == names.MICRO_TIME:
        return not _largest(values)
    return proposed.semantic_type == names.MICRO_TIMESTAMP and values.unit in (None, "days")
