"""Keys that the sources of a dbt project declare, for entities whose files do not show theirs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from alluvium import AlluviumError
from alluvium.scaffolding.declared import declared_tables
from alluvium.scaffolding.matching import place_of, tables_of
from alluvium.scaffolding.project import open_project, read_yaml
from alluvium.scaffolding.questions import is_key_known

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from alluvium.inspection import Entity, Inspection
    from alluvium.scaffolding.declared import DeclaredTable
    from alluvium.scaffolding.project import Project


def entities_with_declared_key(inspection: Inspection, directory: Path) -> list[Entity]:
    """The entities that are a table of a source, by the place of its files, and whose key that one says.

    Args:
        inspection: of the files.
        directory: of dbt_project.yml. Sources of it that cannot be read declare nothing.

    Raises:
        AlluviumError: it is no dbt project.
    """
    entities = [entity for entity in inspection.entities if entity.shape]
    known = set()
    for declared in _sources(open_project(directory)):
        tables = tables_of(inspection, entities, declared)
        for entity in entities:
            table = tables.get(place_of(entity))
            if table and table.location is not None and is_key_known(table):
                known.add(place_of(entity))
    return [entity for entity in entities if place_of(entity) in known]


def _sources(project: Project) -> Iterator[dict[str, DeclaredTable]]:
    """The tables of each source."""
    folders = [project.directory / path for path in project.model_paths]
    files = [file for folder in folders for end in ("yml", "yaml") for file in sorted(folder.rglob(f"*.{end}"))]
    for file in files:
        with suppress(AlluviumError):
            document = read_yaml(file)
            sources = document.get("sources") if isinstance(document, dict) else None
            for source in sources if isinstance(sources, list) else ():
                if isinstance(source, dict) and "name" in source:
                    yield declared_tables(file, str(source["name"]), project)
