"""What a source's YAML says of each entity that an inspection has found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError

from .filters import filter_of, has_company, neighbours, undivided
from .types import fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity, Inspection
    from alluvium.inspection.entities import Column

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
        questions: what the YAML cannot say yet.
        notices: what the YAML says, and the files do not bear out.
        declared: the table that the source has already, or None.
        lacks_filter: whether that one reads files of others, for want of the filter.
    """

    entity: Entity
    name: str
    location: str | None
    name_filter: str | None
    options: dict[str, Any]
    columns: dict[str, dict[str, Any]]
    questions: tuple[str, ...]
    notices: tuple[str, ...] = ()
    declared: DeclaredTable | None = None
    lacks_filter: bool = False

    @property
    def key(self) -> list[str] | None:
        """Columns of the key, none for a table without one; None where it is not known yet."""
        found = self.options.get("key", self.options.get("keys"))
        return list(found) if isinstance(found, (list, tuple)) else None

    @property
    def model_columns(self) -> list[str]:
        """Names of the columns that its models have."""
        return [name for name in self.columns if not (_is_own_name(name) or self.leaves_out(name))]

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
    known = _declared_feeds(inspection, having_rows, declared)
    found_again = {table.name for table in known.values()}
    taken = {model for name in declared for model in _models_of(name)}
    feeds = []
    for entity in having_rows:
        if entities and entity.name not in entities:
            continue
        table = known.get(_place(inspection, entity))
        if table is None:
            _refuse_moved(inspection, entity, declared, found_again, source)
            name = next(name for name in numbered(slug(entity.name)) if taken.isdisjoint(_models_of(name)))
            taken.update(_models_of(name))
        feeds.append(_feed(inspection, entity, table.name if table else name, table))
    return feeds


_Place = tuple[str, "str | None"]


def _location(inspection: Inspection, entity: Entity) -> str:
    """Where the files are, as Spark names it."""
    return "/".join(part for part in (inspection.location, entity.location) if part)


def _place(inspection: Inspection, entity: Entity) -> _Place:
    """What no two entities have in common."""
    return entity.location, entity.topic


def _declared_feeds(
    inspection: Inspection, entities: Sequence[Entity], declared: Mapping[str, DeclaredTable]
) -> dict[_Place, DeclaredTable]:
    """The tables of the entities that are declared: by location and filter, else by location and name."""
    found: dict[_Place, DeclaredTable] = {}
    left = dict(declared)

    def take(entity: Entity, table: DeclaredTable | None) -> None:
        if table and _place(inspection, entity) not in found:
            found[_place(inspection, entity)] = left.pop(table.name)

    def at(entity: Entity) -> list[DeclaredTable]:
        return [table for table in left.values() if table.location == _location(inspection, entity)]

    for entity in entities:
        wanted = filter_of(inspection, entity)
        take(entity, next((table for table in at(entity) if wanted and table.name_filter == wanted), None))
    for entity in entities:
        take(entity, next((table for table in at(entity) if _is_named_after(table, entity)), None))
    for entity in entities:
        # A table that was given another name.
        if len(at(entity)) == 1 and len([other for other in entities if other.location == entity.location]) == 1:
            take(entity, at(entity)[0])
    for entity in entities:
        # Its location is not said yet, or has variables that are not known here.
        nameless = [table for table in left.values() if table.location is None]
        take(entity, next((table for table in nameless if table.name == slug(entity.name)), None))
    return found


def _is_named_after(table: DeclaredTable, entity: Entity) -> bool:
    written = re.search(r"of the topic (.+)\.$", table.description)
    if written:
        return written[1] == entity.topic
    return re.fullmatch(rf"{re.escape(slug(entity.name))}(_\d+)?", table.name) is not None


def _refuse_moved(
    inspection: Inspection, entity: Entity, declared: Mapping[str, DeclaredTable], found_again: set[str], source: str
) -> None:
    """Columns of one table would go to another one of its name, whose files are never read."""
    table = declared.get(slug(entity.name))
    location = _location(inspection, entity)
    if table and table.name not in found_again and table.location not in (None, location):
        raise AlluviumError(
            f"source {source}: table {table.name} is declared at {table.written_location}, and these files lie at "
            f"{location}: if they have moved, say the new location in the source's YAML; if it is another table, say "
            "another --source."
        )


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


def _feed(inspection: Inspection, entity: Entity, name: str, declared: DeclaredTable | None) -> Feed:
    location = _location(inspection, entity)
    shared = undivided(inspection, entity)
    columns = _columns(entity)
    if declared and declared.options.get("unknown_columns") == "ignore":
        columns = {column: said for column, said in columns.items() if not _is_own_name(column)}
    questions = list(_open_questions(entity, columns, declared))
    if not declared and shared:
        questions.append(
            f"which files below {location} are its own? Those of {_listed(shared)} lie there, too: say location, with "
            "options: {pathGlobFilter: ...} where their names tell them apart; else move them."
        )
    return Feed(
        entity,
        name,
        declared.written_location if declared else None if shared else location,
        (declared.name_filter if declared else None) or filter_of(inspection, entity),
        _said_before(_options(entity), declared.options) if declared else _options(entity),
        _columns_said_before(columns, declared.columns) if declared else columns,
        tuple(questions),
        tuple(_notices(inspection, entity, declared)) if declared else (),
        declared,
        declared is not None and _lacks_filter(inspection, entity, declared),
    )


def _listed(entities: Sequence[Entity]) -> str:
    return ", ".join(sorted({entity.topic or entity.name for entity in entities}))


def _lacks_filter(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> bool:
    return (
        declared.location is not None
        and not declared.name_filter
        and filter_of(inspection, entity) is not None
        and has_company(inspection, entity)
    )


# Two names of one thing, of which a table has one.
_OTHER_NAMES = {"key": "keys", "order_by": "sequence_by"}


def _said_before(options: dict[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    kept = {option: value for option, value in options.items() if _OTHER_NAMES.get(option) not in declared}
    return {**kept, **declared}


def _columns_said_before(
    columns: Mapping[str, dict[str, Any]], declared: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """In the order that is declared, those too that the files have no more."""
    before = {name: dict(said or columns.get(name, {})) for name, said in declared.items()}
    return before | {name: said for name, said in columns.items() if name not in declared}


def _open_questions(
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
        if column.name in columns and _is_own_name(column.name):
            yield (
                f"{column.name} is a name that this project or Spark has: which other one shall it have? Rename it in "
                "the connector (ReplaceField), or take it out here and say unknown_columns: ignore."
            )


def _answered(
    entity: Entity, columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable
) -> Iterator[str | None]:
    if declared.key is not None and declared.key != list(entity.key.columns):
        yield entity.key.question
    for column in entity.columns:
        data_type = declared.columns.get(column.name, {}).get("data_type")
        if data_type and data_type != columns.get(column.name, {}).get("data_type"):
            yield column.type.question


def _is_own_name(name: str) -> bool:
    """As the macros' is_own_column."""
    return name.startswith("_cdc_") or name in (
        "_is_deleted",
        "_deleted_at",
        "_valid_from",
        "_valid_to",
        "_is_current",
        "_metadata",
    )


def _notices(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> Iterator[str]:
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
        here = _location(inspection, entity)
        yield f"its location {declared.written_location} has variables that are not known here: is it {here}?"
    beside = neighbours(inspection, entity)
    wanted = filter_of(inspection, entity)
    if beside and declared.name_filter and wanted and not declared.name_filter.startswith(wanted[:-1]):
        yield (
            f"does its pathGlobFilter {declared.name_filter} leave out the files of {_listed(beside)}? {wanted} does."
        )
    shared = undivided(inspection, entity)
    if shared and not declared.name_filter:
        yield (
            f"the files of {_listed(shared)} lie in its folder, too, and are read as its own: say "
            "options: {pathGlobFilter: ...} where their names tell them apart; else move them."
        )


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
