"""Which declared table is which inspected entity."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from alluvium import AlluviumError

from .filters import filter_of, filter_of_topic, is_at, location_of
from .names import slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alluvium.inspection import Entity, Inspection

    from .declared import DeclaredTable

Place = tuple[str, "str | None"]


def place_of(entity: Entity) -> Place:
    """What no two entities have in common."""
    return entity.files.location, entity.files.topic


def tables_of(
    inspection: Inspection, entities: Sequence[Entity], declared: Mapping[str, DeclaredTable]
) -> dict[Place, DeclaredTable]:
    """The tables of the entities that are declared: by location and filter, else by location and name."""
    found: dict[Place, DeclaredTable] = {}
    left = dict(declared)

    def take(entity: Entity, table: DeclaredTable | None) -> None:
        if table and place_of(entity) not in found:
            found[place_of(entity)] = left.pop(table.name)

    def at(entity: Entity) -> list[DeclaredTable]:
        return [table for table in left.values() if is_at(inspection, entity, table.location)]

    for entity in entities:
        for wanted in (filter_of(inspection, entity), filter_of_topic(entity)):
            take(entity, next((table for table in at(entity) if wanted and table.name_filter == wanted), None))
    for entity in entities:
        take(entity, next((table for table in at(entity) if _is_named_after(table, entity)), None))
    for entity in entities:
        # A table that was given another name.
        unnamed = [table for table in at(entity) if table.name_filter is None and _topic_of(table) is None]
        if len(unnamed) == 1 and [other.files.location for other in entities].count(entity.files.location) == 1:
            take(entity, unnamed[0])
    for entity in entities:
        # Its location is not said yet, or has variables that are not known here.
        nameless = [table for table in left.values() if table.location is None]
        take(entity, next((table for table in nameless if table.name == slug(entity.name)), None))
    return found


def _topic_of(table: DeclaredTable) -> str | None:
    """As the description has it that a scaffold writes; a longer one is the user's own."""
    written = re.search(r"of the topic (\S+)\.$", table.description)
    return written[1] if written else None


def _is_named_after(table: DeclaredTable, entity: Entity) -> bool:
    topic = _topic_of(table)
    if topic:
        return topic == entity.files.topic
    return re.fullmatch(rf"{re.escape(slug(entity.name))}(_\d+)?", table.name) is not None


def validate_location(
    inspection: Inspection, entity: Entity, declared: Mapping[str, DeclaredTable], found_again: set[str], source: str
) -> None:
    """Columns of one table would go to another one of its name, whose files are never read."""
    table = declared.get(slug(entity.name))
    location = location_of(inspection, entity)
    if table and table.location and table.name not in found_again and not is_at(inspection, entity, table.location):
        raise AlluviumError(
            f"source {source}: table {table.name} is declared at {table.written_location}, and these files lie at "
            f"{location}: if they have moved, say the new location in the source's YAML; if it is another table, say "
            "another --source."
        )
