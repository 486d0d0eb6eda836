"""What a source's YAML says of each entity that an inspection has found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from alluvium.inspection.positions import known_connector
from alluvium.inspection.reserved_names import is_invalid_name
from alluvium.inspection.types import question_of_zone

from .filters import filter_of, filter_of_topic, has_neighbours, location_of, undivided
from .matching import Place, place_of, tables_of, validate_location
from .names import for_dbt, models_of, numbered, slug
from .questions import Question, notices_of, questions_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alluvium.inspection import Entity, Inspection
    from alluvium.inspection.columns import Column

    from .declared import DeclaredTable


@dataclass(frozen=True)
class Feed:
    """One table of a source.

    Attributes:
        entity: as inspected.
        name: of the table in the source, and of its models after ``stg_<source>__``: lower case, ``_`` for all else.
        location: of its files, as Spark names it; None where it has to be said.
        name_filter: ``pathGlobFilter`` that its files alone have, or None.
        options: of ``meta.cdc``, those that are declared before those that were inspected.
        columns: name and what stands beside it, in their order; likewise.
        asked: what the files cannot tell, answered or not.
        notices: what the YAML says, and the files do not bear out.
        declared: the table that the source has already, or None.
        lacks_filter: whether that one reads files of others, for want of the filter.
        snapshotted_with: names of the tables that have rows in a snapshot that has none of it.
    """

    entity: Entity
    name: str
    location: str | None
    name_filter: str | None
    options: dict[str, Any]
    columns: dict[str, dict[str, Any]]
    asked: tuple[Question, ...]
    notices: tuple[str, ...] = ()
    declared: DeclaredTable | None = None
    lacks_filter: bool = False
    snapshotted_with: tuple[str, ...] = ()

    @property
    def open_questions(self) -> list[Question]:
        """What the YAML does not say yet."""
        return [question for question in self.asked if question.is_open]

    @property
    def questions(self) -> tuple[str, ...]:
        """The same, in words."""
        return tuple(question.text for question in self.open_questions)

    def questions_about(self, column: str) -> list[Question]:
        """Those of one column, for a place where no other one is asked about."""
        return [question.about(column) for question in self.open_questions if column in question.columns]

    @property
    def key(self) -> list[str] | None:
        """Columns of the key, none for a table without one; None where it is not known yet."""
        found = self.options.get("key", self.options.get("keys"))
        return list(found) if isinstance(found, (list, tuple)) else None

    @property
    def takes_part_in_snapshots(self) -> bool:
        """Whether its models name those tables: from the question on; of a table that is there, from the answer on."""
        return self.declared is None or self.declared.options.get("snapshots", "partial") != "partial"

    @property
    def model_columns(self) -> list[str]:
        """Names of the columns that its models have."""
        return [name for name in self.columns if not (is_invalid_name(name) or self.leaves_out(name))]

    @property
    def seen_columns(self) -> list[str]:
        """Those of them that the files have, too."""
        seen = {column.name for column in self.entity.columns}
        return [name for name in self.model_columns if name in seen]

    def leaves_out(self, column: str) -> bool:
        """Whether it is declared that the models shall not have a column."""
        return self.declared is not None and self.declared.leaves_out(column)


def feeds_of(
    inspection: Inspection,
    entities: Sequence[str] = (),
    declared: Mapping[str, DeclaredTable] | None = None,
    source: str = "",
) -> list[Feed]:
    """The feeds of the inspected entities that have rows with columns.

    Args:
        inspection: of the files.
        entities: names of those that are wanted; all by default.
        declared: tables that the source has already, by their names; they stay, whatever appears beside them.
        source: its name, for what is said of it.

    Raises:
        AlluviumError: a table of the name is declared at another location.
    """
    declared = declared or {}
    having_rows = [entity for entity in inspection.entities if entity.shape and entity.columns]
    known = tables_of(inspection, having_rows, declared)
    found_again = {table.name for table in known.values()}
    taken = {model for name in declared for model in models_of(name)}
    feeds = []
    for entity in having_rows:
        if entities and entity.name not in entities:
            continue
        table = known.get(place_of(entity))
        if table is None:
            validate_location(inspection, entity, declared, found_again, source)
            name = next(name for name in numbered(slug(entity.name)) if taken.isdisjoint(models_of(name)))
            taken.update(models_of(name))
        feeds.append(_feed(inspection, entity, table.name if table else name, table))
    names = {place_of(feed.entity): feed.name for feed in feeds}
    return [replace(feed, snapshotted_with=_snapshotted_with(feed, inspection, names)) for feed in feeds]


def _snapshotted_with(feed: Feed, inspection: Inspection, names: Mapping[Place, str]) -> tuple[str, ...]:
    missed = feed.entity.snapshots.missed
    places = [place_of(inspection.entities[place]) for place in missed.entities] if missed else []
    return tuple(names[place] for place in places if place in names)


def _feed(inspection: Inspection, entity: Entity, name: str, declared: DeclaredTable | None) -> Feed:
    location = location_of(inspection, entity)
    shared = undivided(inspection, entity)
    columns = _columns(entity)
    if declared and declared.options.get("unknown_columns") == "ignore":
        columns = {column: said for column, said in columns.items() if not is_invalid_name(column)}
    return Feed(
        entity,
        name,
        declared.written_location if declared else None if shared else for_dbt(location),
        declared.name_filter or filter_of_topic(entity) if declared else filter_of(inspection, entity),
        _with_declared(_options(entity), declared.options) if declared else _options(entity),
        _with_declared_columns(columns, declared.columns) if declared else columns,
        tuple(questions_of(inspection, entity, columns, declared)),
        tuple(notices_of(inspection, entity, declared)) if declared else (),
        declared,
        declared is not None and _lacks_filter(inspection, entity, declared),
    )


def _lacks_filter(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> bool:
    return (
        declared.location is not None
        and not declared.name_filter
        and filter_of_topic(entity) is not None
        and has_neighbours(inspection, entity)
    )


# Two names of one thing, of which a table has one.
_OTHER_NAMES = {"key": "keys", "order_by": "sequence_by"}


def _with_declared(options: dict[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    kept = {option: value for option, value in options.items() if _OTHER_NAMES.get(option) not in declared}
    return {**kept, **declared}


def _with_declared_columns(
    columns: Mapping[str, dict[str, Any]], declared: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """In the order that is declared, those too that the files have no more."""
    before = {name: dict(said or columns.get(name, {})) for name, said in declared.items()}
    return before | {name: said for name, said in columns.items() if name not in declared}


def _options(entity: Entity) -> dict[str, Any]:
    files, order = entity.files, entity.order
    options: dict[str, Any] = {"connector": _connector(entity), "shape": entity.shape}
    if entity.has_envelopes:
        options["reads_envelopes"] = True
    if files.layout not in (None, "confluent"):
        options["layout"] = files.layout
    if entity.records.has_store_envelope:
        options["store_envelope"] = True
    if entity.key.columns or not entity.key.question:
        options["key"] = list(entity.key.columns)
    if order.is_by_offset:
        options["order_by"] = "offset"
    elif order.question and entity.shape != "row":
        options["order_by"] = None
    # What other folders have looks like a gap, and the first file's end like an overlap.
    if files.folder_columns and files.layout:
        options |= {"on_gap": "ignore", "on_overlap": "ignore"}
    # With null dbt refuses it until it is answered: either answer is wrong of another table.
    decimals = entity.encoding.decimals
    if decimals.mode or decimals.question:
        options[decimals.option] = decimals.mode
    if entity.encoding.has_precise_unsigned:
        options["bigint_unsigned_handling_mode"] = "precise"
    if entity.snapshots.missed or entity.snapshots.question:
        options["snapshots"] = None
    are_full = entity.operations.before_images.are_full
    if are_full is not None:
        options["replica_identity"] = "full" if are_full else "default"
    return options


def _connector(entity: Entity) -> str | None:
    if entity.shape == "row":
        return "jdbc" if entity.encoding.names_connect_types else "table"
    return None if entity.question_of_connector else known_connector(entity.source.connector)


def _columns(entity: Entity) -> dict[str, dict[str, Any]]:
    return {column.name: _column(entity, column) for column in entity.columns}


def _column(entity: Entity, column: Column) -> dict[str, Any]:
    said: dict[str, Any] = {}
    # Fractions of plain JSON may be a decimal's, a time with a Z a local one: a double or a timestamp keeps the value.
    keeps_value = column.type.data_type in ("float", "double") or column.type.question == question_of_zone(column.name)
    if not column.type.question or keeps_value:
        said["data_type"] = column.type.data_type
    meta: dict[str, Any] = {}
    # Beside a type that is to be said, too: it has an effect on the proposed one alone.
    if column.type.semantic_type:
        meta["semantic_type"] = column.type.semantic_type
    if column.type.is_unsigned:
        meta["unsigned"] = True
    if column.added_default is not None:
        meta["default"] = (
            for_dbt(column.added_default) if isinstance(column.added_default, str) else column.added_default
        )
    if column.name in entity.key.columns and column.has_nulls:
        meta["nullable"] = True
    return said | ({"config": {"meta": {"cdc": meta}}} if meta else {})
