"""Which of the files at a location are an entity's: Spark reads all that lie in or below a source's folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from alluvium.inspection.names import escaped_glob, name_filter, without_partitions

from .names import for_dbt

if TYPE_CHECKING:
    from alluvium.inspection import Entity, Inspection


def location_of(inspection: Inspection, entity: Entity) -> str:
    """The topmost folder whose files are the entity's, as Spark names it.

    What was inspected may be a part of it, a day or a partition: the next one lands beside that.
    """
    if entity.files.location:
        return f"{inspection.location}/{entity.files.location}"
    return inspection.location if inspection.file else without_partitions(inspection.location, entity.files.topic)


def is_at(inspection: Inspection, entity: Entity, location: str | None) -> bool:
    """Whether an entity's files are those at a declared location, which may be the part that was inspected."""
    inspected = "/".join(part for part in (inspection.location, entity.files.location) if part)
    return location in (location_of(inspection, entity), inspected)


def filter_of(inspection: Inspection, entity: Entity) -> str | None:
    """``pathGlobFilter`` of the files that were inspected, whatever lands beside them; None where names do not tell."""
    return for_dbt(escaped_glob(inspection.file)) if inspection.file else filter_of_topic(entity)


def filter_of_topic(entity: Entity) -> str | None:
    """``pathGlobFilter`` of all files of the entity's topic; None where names do not tell."""
    return for_dbt(name_filter(entity.files.topic, entity.files.layout)) if entity.files.topic else None


def is_of_one_file(pattern: str) -> bool:
    """Whether a ``pathGlobFilter`` is one file's whole name."""
    return re.search(r"[*?[{]", re.sub(r"\\.", "", pattern)) is None


def neighbours(inspection: Inspection, entity: Entity) -> list[Entity]:
    """Other entities in or below an entity's folder."""
    below = f"{entity.files.location}/" if entity.files.location else ""
    others = (other for other in inspection.entities if other is not entity)
    return [other for other in others if f"{other.files.location}/".startswith(below)]


def has_neighbours(inspection: Inspection, entity: Entity) -> bool:
    """Whether something else lies in or below an entity's folder, or may: beside one file nothing was looked at."""
    below = f"{entity.files.location}/" if entity.files.location else ""
    others = any(path.startswith(below) for path in inspection.others)
    return bool(inspection.file) or others or bool(neighbours(inspection, entity))


def undivided(inspection: Inspection, entity: Entity) -> list[Entity]:
    """The neighbours whose files no filter on names can tell from an entity's."""
    return [other for other in neighbours(inspection, entity) if entity.files.topic in (None, other.files.topic)]
