"""Sources, models and their YAML for a folder of change files, in the style of the repository's own."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alluvium import AlluviumError

from .changes import Change, write
from .declared import DeclaredTable, declared_tables
from .feeds import Feed, feeds_of, slug
from .models import MODELS
from .project import open_project
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from alluvium.inspection import Inspection

__all__ = ["Change", "Scaffold", "feeds_of", "plan"]

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

    def write(self, project: Path) -> None:
        """Write every file that is new, added to or replaced.

        Raises:
            AlluviumError: a file cannot be written; then none is.
        """
        write(project, self.changes)


def plan(
    inspection: Inspection,
    source: str,
    project: Path,
    *,
    entities: Sequence[str] = (),
    history: bool = False,
    deletes: str | None = None,
    force: bool = False,
) -> Scaffold:
    """What a scaffold would do; nothing is written.

    Args:
        inspection: of the files.
        source: name of the dbt source.
        project: directory of dbt_project.yml.
        entities: names of those that are wanted; all by default.
        history: whether each has a history.
        deletes: ``soft`` keeps the last values of a deleted row, ``hard`` its key alone; None for what a state that is
            there has, else soft.
        force: whether files that were edited by hand are replaced.

    Raises:
        AlluviumError: the project is none, the source's name does not fit, an entity is not there, a file of the
            project cannot be read, or a table of the same name has its files elsewhere.
    """
    opened = open_project(project)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", source):
        raise AlluviumError(
            f"source {source!r}: a source is named in lower case, with digits and _; say {_named(source)}."
        )
    inspection.require_changes()
    known = [entity.name for entity in inspection.entities if entity.shape]
    for entity in entities:
        if entity not in known:
            raise AlluviumError(f"entity {entity!r} is not in {inspection.location}; there are: {', '.join(known)}.")
    prefix = "" if opened.name == OWN_NAME else f"{OWN_NAME}."
    writer = Writer(opened, source, prefix, deletes, inspection.location, force=force)
    declared: dict[str, DeclaredTable] | None = None
    # What is replaced anyway need not be readable.
    with suppress(*([AlluviumError] if force else [])):
        declared = declared_tables(project / writer.sources_path(), source, opened)
    feeds = feeds_of(inspection, entities, declared, source)
    if not feeds:
        raise AlluviumError(
            f"{inspection.location}: no entity has a row with columns; scaffold again after one has landed."
        )
    chosen = [model for model in MODELS if history or model.suffix != "_history"]
    changes = tuple(writer.changes(feeds, chosen))
    notices = (
        *_notices_of_feeds(feeds, changes[0], history=history),
        *_notices_of_changes(inspection, entities, changes, deletes),
    )
    return Scaffold(changes, tuple(feeds), notices)


def _named(source: str) -> str:
    """A name that fits, like the one that does not."""
    return repr(slug(source)) if re.search(r"[A-Za-z0-9]", source) else "--source shop, or another such name"


def _notices_of_feeds(feeds: Sequence[Feed], sources: Change, *, history: bool) -> Iterator[tuple[str, str]]:
    for feed in feeds:
        yield from ((feed.entity.name, notice) for notice in feed.notices)
        if feed.lacks_filter and sources.kind == "kept":
            said = f"options: {{pathGlobFilter: {feed.name_filter}}}"
            yield feed.entity.name, f"files of others in its folder are read as its own; say {said} in its external."
        if history and feed.key is None:
            yield feed.entity.name, "it has no history before its key is declared; say that, and scaffold again."
        elif history and not feed.key:
            yield feed.entity.name, "a table without a key has no history."


def _notices_of_changes(
    inspection: Inspection, entities: Sequence[str], changes: Sequence[Change], deletes: str | None
) -> Iterator[tuple[str, str]]:
    for entity in inspection.entities:
        if entity.shape and not entity.columns and (not entities or entity.name in entities):
            yield (
                entity.name,
                "its files have deletes alone, and nothing is written for it; scaffold again after a row has landed.",
            )
    for change in changes:
        if deletes and change.kind == "replaced" and "\n-    meta={" in change.difference:
            model = change.path.rpartition("/")[2].removesuffix(".sql")
            yield model, f"delete_policy is {deletes} now; apply it with dbt build --full-refresh --select {model}+"
