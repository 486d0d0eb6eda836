"""What a source's YAML says already: its tables, where their files are, and what was answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError

from .comments import comments_in
from .project import read_text, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .project import Project

_DOC = re.compile(r"""\s*\{\{\s*doc\(\s*['"]([^'"]+)['"]\s*\)\s*\}\}\s*""")


@dataclass(frozen=True)
class DeclaredTable:
    """One table of a source.

    Attributes:
        name: of the table.
        written_location: as the file has it; None where it says none yet.
        location: as an inspection names it; None where it is not said, or its variables are not known.
        name_filter: its ``pathGlobFilter``, or None.
        description: of the table.
        own_options: its ``meta.cdc``.
        options: the same, after those of the source.
        columns: name and what stands beside it, in their order.
        descriptions: by column, the name of the ``doc()`` that its description is.
        comments: what a scaffold has asked there, and nobody has taken out.
    """

    name: str
    written_location: str | None
    location: str | None
    name_filter: str | None
    description: str
    own_options: Mapping[str, Any]
    options: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    comments: tuple[str, ...] = ()

    @property
    def key(self) -> list[str] | None:
        """Columns of its key; None where it says none yet."""
        key = self.options.get("key", self.options.get("keys"))
        return [str(name) for name in key] if isinstance(key, list) else None

    def leaves_out(self, column: str) -> bool:
        """Whether the models shall not have a column."""
        listed, left_out = (self.options.get(option) for option in ("column_list", "except_column_list"))
        return (isinstance(left_out, list) and column in left_out) or (
            isinstance(listed, list) and column not in listed
        )


def declared_tables(file: Path, source: str, project: Project) -> dict[str, DeclaredTable]:
    """The tables of a source by their names; none where the file is not there.

    Args:
        file: of the sources.
        source: its name.
        project: whose variables the locations have.

    Raises:
        AlluviumError: the file cannot be read, or is not written as dbt takes it.
    """
    if not file.exists():
        return {}
    document = read_yaml(file)
    sources = [entry for entry in _mappings(file, document, "sources") if entry.get("name") == source]
    if not sources:
        raise AlluviumError(f"{file} has no source {source}: declare it there, move the file away, or say --force.")
    said = cdc_options(sources[0])
    tables = _mappings(file, sources[0], "tables")
    text = read_text(file)
    return {
        str(table["name"]): replace(
            _table(file, table, said, project),
            comments=tuple(comments_in(text, path_of_table(source, str(table["name"])))),
        )
        for table in tables
    }


def path_of_table(source: str, table: str) -> list[str | tuple[str, str]]:
    """What leads to a table in the YAML of its source."""
    return ["sources", ("name", source), "tables", ("name", table)]


def cdc_options(entry: Mapping[str, Any]) -> dict[str, Any]:
    """``meta.cdc``, at either of the places where dbt takes it."""
    found: dict[str, Any] = {}
    for meta in (entry.get("meta"), _mapping(entry.get("config")).get("meta")):
        found |= _mapping(_mapping(meta).get("cdc"))
    return found


def _table(file: Path, table: Mapping[str, Any], said: Mapping[str, Any], project: Project) -> DeclaredTable:
    external = _mapping(table.get("external"))
    written = external.get("location")
    name_filter = _mapping(external.get("options")).get("pathGlobFilter")
    own = cdc_options(table)
    columns = _mappings(file, table, "columns")
    docs = {str(column["name"]): _DOC.fullmatch(str(column.get("description") or "")) for column in columns}
    return DeclaredTable(
        str(table["name"]),
        written,
        project.place(written) if isinstance(written, str) else None,
        None if name_filter is None else str(name_filter),
        str(table.get("description") or ""),
        own,
        {**said, **own},
        {
            str(column["name"]): {name: value for name, value in column.items() if name not in ("name", "description")}
            for column in columns
        },
        {column: found[1] for column, found in docs.items() if found},
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(file: Path, parent: Any, name: str) -> list[dict[str, Any]]:
    """A list of what has a name each; empty where there is none."""
    if not isinstance(parent, dict):
        raise AlluviumError(f"{file} is no mapping with {name}: mend it, move the file away, or say --force.")
    found = parent.get(name, [])
    subject = f"{file}: {name}" + (f" of {parent['name']}" if "name" in parent else "")
    if not isinstance(found, list):
        raise AlluviumError(f"{subject} is no list; mend it, move the file away, or say --force.")
    if not all(isinstance(entry, dict) and entry.get("name") is not None for entry in found):
        raise AlluviumError(f"{subject} has an item without a name; give it one, or take it out.")
    return found
