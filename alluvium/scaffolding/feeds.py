"""What a source's YAML says of each entity that an inspection has found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity, Inspection
    from alluvium.inspection.entities import Column


@dataclass(frozen=True)
class Feed:
    """One table of a source.

    Attributes:
        entity: as inspected.
        name: of the table in the source, and of its models after ``stg_<source>__``: lower case, ``_`` for all else.
        location: of its files, as Spark names it.
        options: of ``meta.cdc``.
        columns: name and what stands beside it, in their order.
        questions: what the YAML cannot say yet.
    """

    entity: Entity
    name: str
    location: str
    options: dict[str, Any]
    columns: dict[str, dict[str, Any]]
    questions: tuple[str, ...]


def feeds_of(
    inspection: Inspection, entities: Sequence[str] = (), declared: Mapping[tuple[str, str | None], str] | None = None
) -> list[Feed]:
    """The feeds of the inspected entities that have rows.

    Args:
        inspection: of the files.
        entities: names of those that are wanted; all by default.
        declared: names that the source has already, by location and filter; they stay, whatever appears beside them.
    """
    declared = declared or {}
    wanted = [entity for entity in inspection.entities if entity.shape and (not entities or entity.name in entities)]
    here = {_location(inspection, entity) for entity in wanted}
    taken = {model for place, name in declared.items() if place in here for model in _models_of(name)}
    feeds = []
    for entity in wanted:
        name = declared.get(_location(inspection, entity))
        if name is None:
            name = next(name for name in numbered(slug(entity.name)) if taken.isdisjoint(_models_of(name)))
            taken.update(_models_of(name))
        feeds.append(_feed(inspection, entity, name))
    return feeds


def _location(inspection: Inspection, entity: Entity) -> tuple[str, str | None]:
    """Where the files are, as Spark names it, and the filter on their names."""
    parts = (inspection.location, entity.location)
    return "/".join(part for part in parts if part), entity.name_filter


def numbered(name: str) -> Iterator[str]:
    """The name, then the name with 2, 3, ..."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _models_of(name: str) -> set[str]:
    """Of two entities ``orders`` and ``orders_state`` one would be called like the other's state."""
    return {f"{name}{suffix}" for suffix in ("", "_state", "_history")}


def slug(name: str) -> str:
    """A name that dbt and Spark take without quotes: ``Größe/2`` becomes ``gr_e_2``."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"t_{plain}" if not plain or plain[0].isdigit() else plain


def _feed(inspection: Inspection, entity: Entity, name: str) -> Feed:
    location, _ = _location(inspection, entity)
    return Feed(entity, name, location, _options(entity), _columns(entity), entity.questions)


def _options(entity: Entity) -> dict[str, Any]:
    options: dict[str, Any] = {
        "connector": entity.connector or ("jdbc" if entity.schema_versions else "table"),
        "shape": entity.shape,
    }
    if entity.layout == "lenses":
        options["layout"] = "lenses"
    if entity.has_store_envelope:
        options["store_envelope"] = True
    if entity.key.columns or not entity.key.question:
        options["key"] = list(entity.key.columns)
    if entity.order.is_by_offset:
        options["order_by"] = "offset"
    if entity.connector == "postgresql" and entity.has_whole_images is not None:
        options["replica_identity"] = "full" if entity.has_whole_images else "default"
    return options


def _columns(entity: Entity) -> dict[str, dict[str, Any]]:
    return {column.name: _column(entity, column) for column in entity.columns}


def _column(entity: Entity, column: Column) -> dict[str, Any]:
    said: dict[str, Any] = {}
    # Fractions of plain JSON may be a decimal's; a double keeps those of a double, and is asked about.
    if not column.type.question or column.type.data_type in ("float", "double"):
        said["data_type"] = column.type.data_type
    meta: dict[str, Any] = {}
    if column.type.semantic_type and not column.type.question:
        meta["semantic_type"] = column.type.semantic_type
    if column.type.is_unsigned:
        meta["unsigned"] = True
    if column.added_default is not None:
        meta["default"] = column.added_default
    if column.name in entity.key.columns and column.has_nulls:
        meta["nullable"] = True
    return said | ({"config": {"meta": {"cdc": meta}}} if meta else {})
