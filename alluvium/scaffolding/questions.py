"""What is still open about an entity, and what its declaration says and the files do not bear out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .filters import filter_of, location_of, neighbours, undivided
from .types import fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity, Inspection

    from .declared import DeclaredTable


def open_questions(
    entity: Entity, columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable | None
) -> Iterator[str]:
    """The questions that no line answers yet; a key can be answered otherwise than it was guessed."""
    answered = set(_answered(entity, columns, declared)) if declared else set()
    for question in entity.questions:
        if question in answered:
            continue
        if question == entity.key.question and entity.key.columns:
            question += " After another answer run alluvium scaffold again: tests of its models name the key."
        yield question
    for column in entity.columns:
        if column.name in columns and is_own_name(column.name):
            yield (
                f"{column.name} is a name that this project or Spark has: which other one shall it have? Rename it in "
                "the connector (ReplaceField), or take it out here and say unknown_columns: ignore."
            )


def _answered(
    entity: Entity, columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable
) -> Iterator[str | None]:
    if declared.key is not None and declared.key != list(entity.key.columns):
        yield entity.key.question
    # The order of offsets was proposed of one partition, and there may be more now.
    if declared.options.get("sequence_by") or declared.options.get("order_by") not in (None, "offset"):
        yield entity.order.question
    if entity.missed_snapshot and declared.options.get("snapshots"):
        yield entity.missed_snapshot.question
    for column in entity.columns:
        data_type = declared.columns.get(column.name, {}).get("data_type")
        if data_type and data_type != columns.get(column.name, {}).get("data_type"):
            yield column.type.question


def is_own_name(name: str) -> bool:
    """As the macros' is_own_column."""
    return name.startswith("_cdc_") or name in (
        "_is_deleted",
        "_deleted_at",
        "_valid_from",
        "_valid_to",
        "_is_current",
        "_metadata",
    )


def notices_of(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> Iterator[str]:
    """What a declared table says and the files do not bear out: their place, their names, and types."""
    yield from _notices_of_files(inspection, entity, declared)
    for column in entity.columns:
        data_type = str(declared.columns.get(column.name, {}).get("data_type") or "")
        if data_type and not fits(column.type, data_type):
            yield (
                f"{column.name} is declared {data_type}, and the files have {column.type.data_type} now "
                f"({column.type.why}): is the declaration right?"
            )


def _notices_of_files(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> Iterator[str]:
    if declared.written_location is not None and declared.location is None:
        here = location_of(inspection, entity)
        yield f"its location {declared.written_location} has variables that are not known here: is it {here}?"
    beside = neighbours(inspection, entity)
    wanted = filter_of(inspection, entity)
    if beside and declared.name_filter and wanted and not declared.name_filter.startswith(wanted[:-1]):
        yield (
            f"does its pathGlobFilter {declared.name_filter} leave out the files of {listed(beside)}? {wanted} does."
        )
    shared = undivided(inspection, entity)
    if shared and not declared.name_filter:
        yield (
            f"the files of {listed(shared)} lie in its folder, too, and are read as its own: say "
            "options: {pathGlobFilter: ...} where their names tell them apart; else move them."
        )


def listed(entities: Sequence[Entity]) -> str:
    """Their topics, or names where they have none."""
    return ", ".join(sorted({entity.topic or entity.name for entity in entities}))
