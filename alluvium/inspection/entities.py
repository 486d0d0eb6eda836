"""What the objects below a location are: one entity for each topic, or each folder without topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import documents
from .column_order import newest_order
from .current_rows import are_shared
from .decimals import Decimals, decimals_of, decimals_of_schemas
from .declared_types import held_against_values, is_decimal
from .defaults import default_by_declaration, default_by_schema
from .delete_images import ImagesBefore, images_before
from .field_versions import newest_that_holds_all, propose_from_versions, versions_of_fields
from .key_names import is_named_like_key
from .keys import (
    Key,
    asked_for_deliveries,
    contradicted,
    held_against_messages,
    is_coarser,
    key_by_data,
    key_of_messages,
    key_of_rows,
)
from .lake_tables import LAKE_TABLE
from .messages import FOREIGN
from .mixtures import question_of_folders, question_of_tables
from .names import is_doubtful, name_filter, name_of_folder
from .numbers import may_be_times, question_of_numbers
from .operation_columns import is_of_tool, is_sequence, is_time_of_loading
from .operations import Operation, operation_of, question_of_operation
from .order import Order, propose_order
from .own_names import is_unfit_name, question_of_unfit_name
from .positions import connector_of, question_of_connector
from .schemas import Schema
from .shapes import is_outbox
from .snapshots import question_of_lone_rows
from .table_changes import DeclaredTable, TableName, find_table
from .types import ProposedType, Values, propose_from_values, question_of_zone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from .missed_snapshots import MissedSnapshot
    from .reading import Found, Reading


@dataclass(frozen=True)
class Column:
    """A column of an entity.

    Attributes:
        name: as in the records.
        type: proposed.
        has_nulls: whether a value was NULL or absent.
        hides_nulls: whether it may be NULL and has a default, which a converter sends in the place of NULL.
        added_default: of a column that was added later, for whose old rows no event was sent, as a number or a text
            that Spark casts to its type; or None.
        lacks_default: whether it was added later, and nothing says whether the rows from before have a default.
    """

    name: str
    type: ProposedType
    has_nulls: bool
    hides_nulls: bool = False
    added_default: Any = None
    lacks_default: bool = False


@dataclass(frozen=True)
class Offsets:
    """The offsets of a Kafka partition, by the names of its objects and the lines of those that were read.

    Attributes:
        first: the lowest that a line shows.
        last: the highest that a name or a line shows.
        holes: offsets between two objects that no line has; tombstones are one cause. None where not all was read.
        overlaps: offsets that lines of two objects share.
    """

    first: int
    last: int
    holes: int | None
    overlaps: int


@dataclass(frozen=True)
class Entity:
    """What one topic or folder holds.

    Attributes:
        name: proposed for the source's table.
        topic: of Kafka, or None.
        tables: that the records say they are of, with database and schema; more than one is asked about.
        location: folder of its objects, below the inspected location.
        name_filter: Spark's ``pathGlobFilter`` where other entities share the folder; else None.
        layout: of the table of sink names, or None.
        format: ``json``, ``avro`` or ``parquet``.
        compressions: of its objects; empty for none.
        partitioned_by: names of Hive-style folders below the location.
        folders_by: those of them that are columns, where no line has its offset.
        shape: ``envelope``, ``flattened``, ``row``; None for a topic of control records alone.
        has_envelopes: whether a flattened topic has envelopes, too.
        has_store_envelope: whether the sink has kept key, headers and metadata.
        is_outbox: whether its rows are events of an outbox table, or what the EventRouter made of them.
        connector: of ``source``, or by the fields of the position that were added to flattened rows; or None.
        images_before: what they have of their rows, for a table of PostgreSQL's.
        versions: of the connector.
        key: proposed.
        order: proposed.
        operation_columns: of rows and flattened rows, that may say which of them are deletes; each is asked about.
        names_connect_types: whether a schema in the files has a type of a column in Kafka Connect's own names.
        columns: proposed, in their order.
        numbers: names of those that may count days or be times, for all that the records say.
        questions: what the files cannot tell, in words.
        ops: number of changes by op.
        controls: number of control records by kind.
        added_fields: what ExtractNewRecordState has added to flattened rows, without its prefix (``deleted``, ``lsn``).
        placeholders: by column, the number of values that the source did not send with an event.
        references: by their prefix and by column, the number of references in place of values.
        deletes_of_nothing: number of deletes that do not say which row they are of.
        partial_updates: number of updates that have what was changed, and not the document (MongoDB).
        moved_keys: keys whose rows lie in more than one Hive-style folder.
        unplaced: that changes have no position, in words, or None.
        shared_positions: number of positions in a binlog that several changes have.
        schema_versions: number of different row schemas in the files.
        offsets: by Kafka partition.
        first_change: the earliest time of a change in the source, or None.
        last_change: the latest one.
        objects: how many there are.
        length: bytes of all of them.
        objects_read: how many were read, some of them in part.
        objects_cut: how many of these were read in part, as they are larger than the bound.
        changes: rows and changes that were read: lines that are no control records.
        lines: that were read.
        errors: object, line and what is wrong, of those that were read; line 0 for an object as a whole.
        decimals: how they are written where no schema says it.
        has_precise_unsigned: whether unsigned 64-bit integers are sent as decimals (``precise``), not as whole numbers.
        question_of_connector: where flattened rows do not show which it was; or None.
        question_of_snapshots: where their rows have a position each; or None.
        missed_snapshot: the newest that has rows of other tables and none of this one, which had changes before.
    """

    name: str
    topic: str | None
    tables: tuple[str, ...]
    location: str
    name_filter: str | None
    layout: str | None
    format: str
    compressions: tuple[str, ...]
    partitioned_by: tuple[str, ...]
    folders_by: tuple[str, ...]
    shape: str | None
    has_envelopes: bool
    has_store_envelope: bool
    is_outbox: bool
    connector: str | None
    images_before: ImagesBefore
    versions: tuple[str, ...]
    key: Key
    order: Order
    operation_columns: tuple[str, ...]
    names_connect_types: bool
    columns: tuple[Column, ...]
    numbers: tuple[str, ...]
    questions: tuple[str, ...]
    ops: Mapping[str, int]
    controls: Mapping[str, int]
    added_fields: tuple[str, ...]
    placeholders: Mapping[str, int]
    references: Mapping[str, Mapping[str, int]]
    deletes_of_nothing: int
    partial_updates: int
    moved_keys: int
    unplaced: str | None
    shared_positions: int
    schema_versions: int
    offsets: Mapping[int, Offsets]
    first_change: datetime | None
    last_change: datetime | None
    objects: int
    length: int
    objects_read: int
    objects_cut: int
    changes: int
    lines: int
    errors: tuple[tuple[str, int, str], ...]
    decimals: Decimals = field(default_factory=Decimals)
    has_precise_unsigned: bool = False
    question_of_connector: str | None = None
    question_of_snapshots: str | None = None
    missed_snapshot: MissedSnapshot | None = None

    @property
    def messages(self) -> Mapping[str, int]:
        """Number of lines that are messages of another tool, by their format."""
        return Counter(error.removeprefix(FOREIGN) for _, _, error in self.errors if error.startswith(FOREIGN))

    @property
    def lake_format(self) -> str | None:
        """The format of the table that its objects are, or None."""
        return next(
            (error.removeprefix(LAKE_TABLE) for _, _, error in self.errors if error.startswith(LAKE_TABLE)), None
        )

    @property
    def is_read_whole(self) -> bool:
        """Whether nothing was left out: offsets that no line has are missing only then."""
        return self.objects_read == self.objects and not self.objects_cut


def describe_entity(
    found: Found, reading: Reading, shared: bool, declared: Mapping[TableName, DeclaredTable]
) -> Entity:
    """Say what an entity is.

    Args:
        found: its objects.
        reading: what was read of them.
        shared: whether other files lie in the same folder.
        declared: the tables that schema changes of the same location tell of, by their names.
    """
    of_names = found.layout
    if is_doubtful(found.layout) and any(
        _offsets(spans, is_read_whole=False).overlaps for spans in reading.spans.values()
    ):
        # Two files of a partition do not share offsets: the numbers are something else.
        found = replace(found, layout=None)
        reading.spans.clear()
    has_envelopes = _has_envelopes(reading)
    shape = "flattened" if has_envelopes else reading.kinds.most_common(1)[0][0] if reading.kinds else None
    if shape == "row" and any(error.startswith(FOREIGN) for _, _, error in reading.errors):
        # What else lies among messages of another tool is another message of it, not a row of a table.
        shape = None
    table = find_table(declared, next(iter(reading.tables))) if len(reading.tables) == 1 else None
    columns = _columns(reading, table) if shape or not reading.kinds else ()
    operations = _operations(reading, columns, shape) if shape in ("row", "flattened") else {}
    columns = tuple(_asked_for_operation(column, operations.get(column.name)) for column in columns)
    names = [column.name for column in columns]
    key = _key(found, reading, shape, table, columns)
    partitioned_by = found.objects[0][1].partitioned_by
    # FieldPartitioner's; in the store envelope each line has its offset.
    folders_by = tuple(name for name in partitioned_by if name in names and not reading.stored)
    order = propose_order(
        shape or "envelope",
        reading.placement.said,
        _partitions(found, reading),
        has_message_keys=any(isinstance(message_key, dict) for message_key in reading.message_keys),
        times=_times(columns, reading),
        folders_by=[name for name in folders_by if name not in key.likely],
    )
    connector = _connector(reading)
    images = ImagesBefore(None)
    if connector == "postgresql":
        images = images_before(reading.changes, key.likely, is_flattened=shape == "flattened")
    of_snapshots = question_of_lone_rows(reading.snapshots)
    declared_types = table.types if table else {}
    decimals = _decimals(columns, reading, declared_types)
    of_connector = question_of_connector(shape, connector)
    asked = [key.question, of_connector, order.question, decimals.question, images.question, of_snapshots]
    numbers = tuple(_numbers(columns, key, reading, {*declared_types, *_columns_said(reading)}))
    formats = reading.formats or Counter(name.format or "json" for _, name in found.objects)
    return Entity(
        name=_entity_name(found, reading),
        topic=found.topic,
        tables=tuple(sorted(".".join(name) for name in reading.tables)),
        location=found.folder,
        name_filter=name_filter(found.topic, of_names) if shared and found.topic else None,
        layout=found.layout,
        format=formats.most_common(1)[0][0],
        compressions=tuple(sorted(reading.compressions)),
        partitioned_by=partitioned_by,
        folders_by=folders_by,
        shape=shape,
        has_envelopes=has_envelopes,
        has_store_envelope=reading.stored > 0,
        is_outbox=is_outbox(set(names)),
        connector=connector,
        images_before=images,
        versions=tuple(sorted(reading.versions)),
        key=key,
        order=order,
        operation_columns=tuple(operations),
        names_connect_types=_names_connect_types(reading),
        columns=columns,
        numbers=numbers,
        questions=tuple(_questions(found, asked, columns, numbers, reading)) if shape else (),
        ops=dict(reading.ops),
        controls=dict(reading.controls),
        added_fields=tuple(sorted(reading.added_fields)),
        placeholders=dict(reading.placeholders),
        references={prefix: dict(columns) for prefix, columns in reading.references.items()},
        deletes_of_nothing=reading.deletes_of_nothing,
        partial_updates=reading.partial_updates,
        moved_keys=_moved_keys(reading, key) if partitioned_by else 0,
        unplaced=reading.placement.said,
        shared_positions=len(reading.deliveries.shared_positions),
        schema_versions=len({repr(schema) for schema in reading.schemas.values()}),
        offsets={
            partition: _offsets(spans, is_read_whole=_is_read_whole(found, reading))
            for partition, spans in sorted(reading.spans.items())
        },
        first_change=reading.first_change,
        last_change=reading.last_change,
        objects=len(found.objects),
        length=sum(stored.length for stored, _ in found.objects),
        objects_read=reading.objects,
        objects_cut=reading.objects_cut,
        changes=sum(reading.kinds.values()),
        lines=reading.lines,
        errors=tuple(reading.errors),
        decimals=decimals,
        has_precise_unsigned=_has_precise_unsigned(columns, reading),
        question_of_connector=of_connector,
        question_of_snapshots=of_snapshots,
    )


def _is_read_whole(found: Found, reading: Reading) -> bool:
    return reading.objects == len(found.objects) and not reading.objects_cut


def _has_envelopes(reading: Reading) -> bool:
    """Whether envelopes and flattened records are read together: MongoDB's envelopes have texts for images."""
    return reading.kinds.keys() == {"envelope", "flattened"} and _connector(reading) != "mongodb"


# Types that a column has which is a key alone; decimals have a scale, or are asked about.
_TYPES_OF_KEYS = ("tinyint", "smallint", "int", "bigint", "string", "binary", "decimal")


def _key(
    found: Found, reading: Reading, shape: str | None, table: DeclaredTable | None, columns: Sequence[Column]
) -> Key:
    apart = question_of_tables({".".join(name) for name in reading.tables}, reading.columns_of_files)
    if apart:
        return Key((), "rows that may be of several tables", apart)
    if table:
        return Key(table.key, "the schema changes beside it")
    if not shape:
        return Key((), "a topic of control records")
    if _connector(reading) == "mongodb" and any(column.name == documents.KEY for column in columns):
        return Key((documents.KEY,), "MongoDB's key of every document")
    names, folders = [column.name for column in columns], found.objects[0][1].partitioned_by
    of_messages = key_of_messages(reading.message_keys, names)
    are_all = _is_read_whole(found, reading) and not reading.errors and not set(folders) & set(names)
    # By default ExtractNewRecordState leaves deletes out.
    are_all = are_all and (shape != "flattened" or any(change.op == "d" for change in reading.changes))
    if of_messages and shape != "row" and not are_shared(reading.changes, of_messages.columns, are_all=are_all):
        return of_messages
    name = _entity_name(found, reading)
    filled = [column.name for column in columns if not column.has_nulls]
    candidates = [name for name in filled if not is_of_tool(name)] or filled
    weak = [column.name for column in columns if not column.type.data_type.startswith(_TYPES_OF_KEYS)]
    images = [change.after for change in reading.changes if change.after]
    key = (
        key_of_rows(name, images, candidates, folders, weak)
        if shape == "row"
        else key_by_data(name, reading.changes, candidates, folders, weak)
    )
    if of_messages:
        is_none = shape != "row" or is_coarser(of_messages.columns, key, images)
        return contradicted(of_messages, key) if is_none else of_messages
    return asked_for_deliveries(held_against_messages(key, reading.message_keys, images), reading.deliveries.doubtful)


def _decimals(columns: Sequence[Column], reading: Reading, declared: Mapping[str, ProposedType]) -> Decimals:
    texts = [column.name for column in columns if column.type.data_type == "string" and column.name not in declared]
    decimals = [name for name, proposed in declared.items() if is_decimal(proposed)]
    seen = reading.values
    of_schemas = decimals_of_schemas(
        [
            seen[name]
            for schema in reading.schemas.values()
            for name, said in schema.fields.items()
            if name in seen and said.type == "bytes" and (said.name or "").endswith(".data.Decimal")
        ]
    )
    if of_schemas != Decimals():
        return of_schemas
    return decimals_of(*([seen[name] for name in names if name in seen] for names in (texts, decimals)))


def _has_precise_unsigned(columns: Sequence[Column], reading: Reading) -> bool:
    """With ``bigint.unsigned.handling.mode=precise`` they are bytes, which a JSON converter writes in base64."""
    unsigned = [column.name for column in columns if column.type.is_unsigned and column.name in reading.values]
    return any(reading.values[name].kinds.keys() - {"null", "integer"} for name in unsigned)


def _operations(reading: Reading, columns: Sequence[Column], shape: str) -> dict[str, Operation]:
    found = {
        column.name: operation_of(column.name, reading.values.get(column.name, Values()), is_row=shape == "row")
        for column in columns
    }
    return {name: operation for name, operation in found.items() if operation}


def _asked_for_operation(column: Column, operation: Operation | None) -> Column:
    if operation is None:
        return column
    question = question_of_operation(column.name, operation, column.type.data_type)
    return replace(column, type=replace(column.type, question=question))


def _names_connect_types(reading: Reading) -> bool:
    """Whether a column has a type that Kafka Connect itself has named."""
    fields = [said for schema in reading.schemas.values() for said in schema.fields.values()]
    return any((said.name or "").startswith("org.apache.kafka.connect.data.") for said in fields)


def _times(columns: Sequence[Column], reading: Reading) -> list[str]:
    """Columns that may order rows, a tool's own first; texts in ISO 8601 have the order of their times."""
    times = [
        column.name
        for column in columns
        if column.type.data_type.startswith("timestamp")
        or (column.name in reading.values and reading.values[column.name].are_iso_times)
    ]
    numbered = [column.name for column in columns if is_sequence(column.name)]
    return numbered + [name for name in times if not is_time_of_loading(name)]


def _partitions(found: Found, reading: Reading) -> int:
    """How many partitions of Kafka have offsets in the names of all objects, or else in all lines that were read."""
    named = {name.partition for _, name in found.objects if name.offset is not None}
    if found.layout and all(name.offset is not None for _, name in found.objects):
        return len(named)
    return len(reading.spans) if reading.stored == reading.lines else 0


def _moved_keys(reading: Reading, key: Key) -> int:
    if not key.likely:
        return 0
    folders: dict[Any, set[str]] = {}
    for change, folder in zip(reading.changes, reading.folders, strict=True):
        image = change.after or change.before
        if image is not None:
            folders.setdefault(tuple(str(image.get(name)) for name in key.likely), set()).add(folder)
    return sum(1 for found in folders.values() if len(found) > 1)


def _connector(reading: Reading) -> str | None:
    if reading.connectors:
        return reading.connectors.most_common(1)[0][0]
    return connector_of(dict.fromkeys(reading.added_fields))


def _entity_name(found: Found, reading: Reading) -> str:
    if len(reading.tables) == 1:
        return next(iter(reading.tables))[-1]
    if found.topic:
        return found.topic.rpartition(".")[2]
    folder = name_of_folder(found.folder) or name_of_folder(found.location) or "rows"
    # There the folder has the name of a topic.
    return folder.rpartition(".")[2] if found.layout else folder


_NUMBERS = ("int32", "int64")
_ISO = "io.debezium.time.Iso"


def _columns(reading: Reading, table: DeclaredTable | None) -> tuple[Column, ...]:
    schemas = sorted(reading.schemas.items(), key=lambda entry: reading.schema_times[entry[0]])
    names = _names_in_order(reading)
    versions = versions_of_fields(schema for _, schema in schemas)
    described = {name: newest_that_holds_all(found) for name, found in versions.items()}
    declared = held_against_values(table.types, reading.values, described) if table else {}
    seen = {**reading.values_of_deletes, **reading.values}
    unsaid = seen.keys() & {*names} - _columns_said(reading) - declared.keys() - reading.first_columns
    columns = []
    for name in names:
        values = seen.get(name, Values())
        if name in declared:
            proposed = declared[name]
        elif (
            name in described
            and described[name].type != "null"
            and (reading.says_meaning or described[name].name or described[name].type not in (*_NUMBERS, "string"))
        ):
            proposed = propose_from_versions(versions[name])
        else:
            proposed = propose_from_values(name, values, described.get(name), _connector(reading))
        said = described.get(name)
        hides_nulls = said is not None and said.optional and said.has_default and said.default is not None
        is_added = any(name not in schema.fields for schema in reading.schemas.values())
        sent, default = _added_default(
            said if is_added else None, table.added_defaults.get(name) if table else None, proposed
        )
        if sent is not None and default is None:
            proposed = replace(proposed, question=_question_of_default(name, sent, proposed))
        # Added later, in records that have no word for its default.
        lacks_default = default is None and name in unsaid
        has_nulls = reading.values.get(name, Values()).present < reading.images - reading.empty_images
        columns.append(Column(name, proposed, has_nulls, hides_nulls, default, lacks_default))
    return _without_doubt_of_zones(columns)


def _without_doubt_of_zones(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Where another local time is sent as a number, the mode is none that writes them as texts."""
    are_numbers = any(
        column.type.data_type in ("date", "timestamp_ntz") and not (column.type.semantic_type or "").startswith(_ISO)
        for column in columns
    )
    return tuple(
        replace(column, type=replace(column.type, question=None))
        if are_numbers and column.type.question == question_of_zone(column.name)
        else column
        for column in columns
    )


def _names_in_order(reading: Reading) -> list[str]:
    """Of all columns; images have the order of their schema, and a topic of deletes alone has no image."""
    of_schemas = [(reading.schema_times[number], tuple(schema.fields)) for number, schema in reading.schemas.items()]
    of_images = [(time, names) for names, time in reading.orders.items()]
    orders = sorted([*of_schemas, *of_images], key=lambda entry: entry[0])
    ordered = newest_order([names for _, names in orders])
    # A delete may be the first event that has a column. From deletes alone nobody knows the others.
    of_deletes = reading.values_of_deletes if reading.images else ()
    return list(dict.fromkeys([*ordered, *reading.values, *of_deletes]))


def _added_default(said: Schema | None, declared: str | None, proposed: ProposedType) -> tuple[Any, Any]:
    """The default of a column that was added later, as it was sent and as it is to be written; None for none."""
    if said:
        return said.default, None if said.default is None else default_by_schema(said, proposed)
    return declared, None if declared is None else default_by_declaration(declared, proposed)


def _question_of_default(name: str, sent: Any, proposed: ProposedType) -> str:
    return (
        f"{name} was added later, with a default that cannot be taken over ({sent!s:.60}): which default have the "
        f"rows from before, if any? Say it beside data_type: {proposed.data_type}."
    )


def _columns_said(reading: Reading) -> set[str]:
    """The columns of which records say themselves what their values mean, and which default they have."""
    return {name for schema in reading.schemas.values() for name in schema.fields} if reading.says_meaning else set()


def _numbers(columns: Sequence[Column], key: Key, reading: Reading, said: Collection[str]) -> Iterator[str]:
    for column in columns:
        if column.name in said:
            continue
        is_plain = column.type.data_type in ("int", "bigint", "array<bigint>") and not column.type.question
        is_plain = is_plain and not column.type.semantic_type
        # A part of a key may be a date, and is none where it is called like a key.
        is_plain = is_plain and not (column.name in key.likely and is_named_like_key(column.name))
        if is_plain and may_be_times(column.name, reading.values.get(column.name, Values())):
            yield column.name


def question_of_added_column(column: str) -> str:
    """What to ask of a column that lacks the default of the rows from before."""
    return f"{column} was added later: which default have the rows from before, if any?"


def _questions(
    found: Found,
    asked: Sequence[str | None],
    columns: Sequence[Column],
    numbers: Sequence[str],
    reading: Reading,
) -> Iterator[str]:
    of_folders = question_of_folders(found.folder, found.alike)
    asked = [of_folders, *asked, *(column.type.question for column in columns)]
    yield from (question for question in asked if question)
    if len(reading.kinds) > 1 and not _has_envelopes(reading):
        counts = " and ".join(f"{count} are of shape {kind}" for kind, count in reading.kinds.most_common())
        yield f"of the records {counts}: which files have which? A table of the source reads one shape."
    if len(reading.formats) > 1:
        counts = " and ".join(f"{count} are {name}" for name, count in reading.formats.most_common())
        yield f"of the objects {counts}: which shall be read (pathGlobFilter)? A table of the source reads one format."
    lowered = Counter(column.name.lower() for column in columns)
    alike = [column.name for column in columns if lowered[column.name.lower()] > 1]
    if alike:
        yield f"which of {', '.join(alike)} shall be read? Spark takes names that differ in case alone for one."
    yield from (question_of_added_column(column.name) for column in columns if column.lacks_default)
    if numbers:
        yield question_of_numbers(numbers)
    yield from (question_of_unfit_name(column.name) for column in columns if is_unfit_name(column.name))


def _offsets(spans: Iterable[tuple[int, int]], *, is_read_whole: bool) -> Offsets:
    ordered = sorted(spans)
    holes = overlaps = 0
    reached = ordered[0][0] - 1
    for first, last in ordered:
        holes += max(0, first - reached - 1)
        overlaps += max(0, min(last, reached) - first + 1)
        reached = max(reached, last)
    return Offsets(ordered[0][0], reached, holes if is_read_whole else None, overlaps)
