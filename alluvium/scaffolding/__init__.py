"""Sources, models and their YAML for a folder of change files, in the style of the repository's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alluvium import AlluviumError

from .changes import Change, one_a_file, write
from .choices import Choices
from .declared import declared_tables
from .feeds import Feed, feeds_of
from .names import slug, with_names_for_dbt
from .notices import (
    of_entities_without_columns,
    of_feeds,
    of_lacking_tables,
    of_other_tables,
    of_replaced_sources,
)
from .project import open_project
from .writer import Writer

if TYPE_CHECKING:
    from pathlib import Path

    from alluvium.inspection import Inspection

    from .declared import DeclaredTable
    from .project import Project

__all__ = ["Change", "Choices", "Scaffold", "feeds_of", "plan"]

OWN_NAME = "alluvium"


@dataclass(frozen=True)
class Scaffold:
    """All changes of one scaffold.

    Attributes:
        changes: by path.
        feeds: the feeds that they are for.
        notices: what they are about, and what the project says and the files do not bear out.
    """

    changes: tuple[Change, ...]
    feeds: tuple[Feed, ...]
    notices: tuple[tuple[str, str], ...] = ()

    @property
    def sources(self) -> str:
        """Path of the file that declares the feeds."""
        return self.changes[0].path

    def write(self, project: Path) -> None:
        """Write every file that is new, added to or replaced.

        Raises:
            AlluviumError: a file cannot be written; then none is.
        """
        write(project, self.changes)


def plan(inspection: Inspection, source: str, project: Path, choices: Choices | None = None) -> Scaffold:
    """What a scaffold would do; nothing is written.

    Args:
        inspection: of the files.
        source: name of the dbt source.
        project: directory of dbt_project.yml.
        choices: of the user; None for the defaults.

    Raises:
        AlluviumError: the project is none, the source's name does not fit, an entity is not there, a file of the
            project cannot be read, or a table of the same name has its files elsewhere.
    """
    choices = choices or Choices()
    opened = open_project(project)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", source):
        raise AlluviumError(
            f"source {source!r}: a source is named in lower case, with digits and _; say {_named(source)}."
        )
    inspection.require_changes()
    known = [entity.name for entity in inspection.entities if entity.shape]
    for entity in choices.entities:
        if entity not in known:
            raise AlluviumError(f"entity {entity!r} is not in {inspection.location}; there are: {', '.join(known)}.")
    prefix = "" if opened.name == OWN_NAME else f"{OWN_NAME}."
    writer = Writer(opened, source, prefix, inspection.location, choices)
    declared = _declared(project / writer.sources_path(), source, opened, force=choices.force)
    inspection = replace(inspection, entities=tuple(map(with_names_for_dbt, inspection.entities)))
    feeds = feeds_of(inspection, choices.entities, declared, source)
    if not feeds:
        raise AlluviumError(
            f"{inspection.location}: no entity has a row with columns; scaffold again after one has landed."
        )
    sources = writer.sources(feeds)
    lacking = [feed for feed in feeds if feed.declared is None] if sources.kind == "kept" else []
    feeds = [feed for feed in feeds if feed.declared or not lacking]
    changes = one_a_file((sources, *writer.models(feeds, history=choices.history)))
    notices = (
        *of_feeds(feeds, sources, history=choices.history),
        *of_lacking_tables(lacking, sources),
        *of_entities_without_columns(
            [one for one in inspection.entities if not choices.entities or one.name in choices.entities]
        ),
        *of_other_tables(changes, choices),
        *of_replaced_sources(declared, feeds, sources),
    )
    return Scaffold(changes, tuple(feeds), notices)


def _named(source: str) -> str:
    """A name that fits, like the one that does not."""
    return repr(slug(source)) if re.search(r"[A-Za-z0-9]", source) else "--source shop, or another such name"


def _declared(file: Path, source: str, project: Project, *, force: bool) -> dict[str, DeclaredTable]:
    """The source's tables; of a file that is replaced anyway none, where it cannot be read."""
    try:
        return declared_tables(file, source, project)
    except AlluviumError:
        if force:
            return {}
        raise
