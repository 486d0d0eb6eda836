"""A column whose schema has changed: which of its types holds all of its values."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from .types import MAX_PRECISION, ProposedType, propose_from_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .schemas import Schema

_WIDER = (("int8", "int16", "int32", "int64"), ("float32", "float64"))


def versions_of_fields(schemas: Iterable[Schema]) -> dict[str, list[Schema]]:
    """The schemas of each column, the oldest first.

    Args:
        schemas: of the row, the oldest first.
    """
    versions: dict[str, list[Schema]] = {}
    for schema in schemas:
        for name, field in schema.fields.items():
            versions.setdefault(name, []).append(field)
    return versions


def latest_that_holds_all(versions: Sequence[Schema]) -> Schema:
    """The latest schema, as wide as the widest one that holds its values; what else it says is the latest's.

    Args:
        versions: of a column, the oldest first.
    """
    return reduce(_following, versions)


def propose_from_versions(versions: Sequence[Schema]) -> ProposedType:
    """The type of a column that the records' own schemas describe, and what other types they say.

    Args:
        versions: its schemas, the oldest first.
    """
    proposed = propose_from_schema(latest_that_holds_all(versions))
    others = sorted({propose_from_schema(version).data_type for version in versions} - {proposed.data_type})
    return replace(proposed, why=f"{proposed.why}; {', '.join(others)} in other records") if others else proposed


def _following(before: Schema, after: Schema) -> Schema:
    if before.name != after.name or not _holds(before, after):
        return after
    return replace(after, type=before.type, precision=before.precision, scale=before.scale)


def _holds(wide: Schema, narrow: Schema) -> bool:
    """Whether every value of one type is a value of the other."""
    if wide.scale is not None and narrow.scale is not None:
        digits = (wide.precision or MAX_PRECISION) - wide.scale
        return wide.scale >= narrow.scale and digits >= (narrow.precision or MAX_PRECISION) - narrow.scale
    return any(
        wide.type in order and narrow.type in order and order.index(wide.type) >= order.index(narrow.type)
        for order in _WIDER
    )
