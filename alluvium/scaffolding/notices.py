"""What a scaffold says beside its files and questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from alluvium.inspection.messages import advice_of, advice_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity

    from .changes import Change
    from .choices import Choices
    from .declared import DeclaredTable
    from .feeds import Feed


def of_feeds(feeds: Sequence[Feed], sources: Change, *, history: bool) -> Iterator[tuple[str, str]]:
    """Of each feed what is declared and the files do not bear out, and why it has no history.

    Args:
        feeds: that are written.
        sources: what happens to the source's YAML.
        history: whether each shall have a history.
    """
    for feed in feeds:
        yield from ((feed.entity.name, notice) for notice in feed.notices)
        if not feed.declared and feed.entity.note_on_deletes:
            yield feed.entity.name, f"{feed.entity.note_on_deletes}."
        if feed.lacks_filter and sources.kind == "kept":
            said = f"options: {{pathGlobFilter: {feed.name_filter}}}"
            yield feed.entity.name, f"files of others in its folder are read as its own; say {said} in its external."
        if history and feed.key is None:
            yield feed.entity.name, "it has no history before its key is declared; say that, and scaffold again."
        elif history and not feed.key:
            yield feed.entity.name, "a table without a key has no history."
        elif history and feed.options.get("shape") == "row" and not feed.options.get("sequence_by"):
            yield (
                feed.entity.name,
                "the versions of its history have no times (_valid_from is NULL), for offsets alone order its rows; "
                "where a column has the time of each change, say sequence_by: [that column] in place of order_by.",
            )


def of_lacking_tables(feeds: Sequence[Feed], sources: Change) -> Iterator[tuple[str, str]]:
    """Of tables that cannot be put into the source's YAML: models of them would have no source."""
    for feed in feeds:
        yield (
            feed.entity.name,
            f"its table cannot be put into {sources.path}, and nothing is written for it: put the table's lines of the "
            "difference there by hand, and scaffold again.",
        )


def of_entities_without_columns(entities: Sequence[Entity]) -> Iterator[tuple[str, str]]:
    """Of entities for which nothing is written, or of which a part is not read."""
    for entity in entities:
        records = entity.records
        for name in records.messages:
            effect = "those lines are not read" if entity.shape else "nothing is written for it"
            yield entity.name, f"it has messages of another tool ({name}): {effect}. {advice_of(name)}"
        if records.lake_format:
            advice = advice_on(records.errors[0][2])
            yield entity.name, f"it is a {records.lake_format} table: nothing is written for it. {advice}"
        if entity.shape and not entity.columns:
            yield (
                entity.name,
                "its files have deletes alone, and nothing is written for it; scaffold again after a row has landed.",
            )


def of_other_tables(changes: Sequence[Change], choices: Choices) -> Iterator[tuple[str, str]]:
    """Of states and histories that have to be built anew, and of what their format needs."""
    for change in changes:
        said = []
        if choices.deletes and change.kind == "replaced" and _differs(change, r'"delete_policy": "(\w+)"', "soft"):
            said.append(f"delete_policy is {choices.deletes} now")
        if choices.file_format and change.kind == "replaced" and _differs(change, r'file_format="(\w+)"'):
            said.append(f"file_format is {choices.file_format} now")
        if said:
            model = change.path.rpartition("/")[2].removesuffix(".sql")
            yield model, f"{' and '.join(said)}; apply it with dbt build --full-refresh --select {model}+"
    if choices.file_format == "hudi":
        yield "file_format", "tables of Hudi's need a session that knows it; set ALLUVIUM_FILE_FORMAT=hudi for dbt."


def of_replaced_sources(
    declared: Mapping[str, DeclaredTable], feeds: Sequence[Feed], sources: Change
) -> Iterator[tuple[str, str]]:
    """Of tables that the source's YAML has no more, because it was written anew."""
    named = {feed.name for feed in feeds}
    for name in declared:
        if sources.kind == "replaced" and name not in named:
            yield name, "it is taken out of the source, for it is not among these files; scaffold its own files again."


def _differs(change: Change, setting: str, default: str = "") -> bool:
    before, after = (re.search(rf"(?m)^[{sign}].*{setting}", change.difference) for sign in ("-", "+"))
    return (before[1] if before else default) != (after[1] if after else default)
