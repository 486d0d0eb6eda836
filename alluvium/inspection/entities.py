"""What the objects below a location are: one entity for each topic, or each folder without topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alluvium.wording import counted

from . import documents
from .before_images import BeforeImages, before_images_of
from .columns import Column, Encoding, encoding_of, names_alike, propose_columns, question_of_added_column
from .current_rows import are_shared
from .files import Files
from .keys import (
    Candidates,
    Key,
    checked_against_message_keys,
    contradicted,
    is_coarser,
    key_by_data,
    key_of_messages,
    key_of_rows,
    questioned_by_duplicates,
)
from .missed_snapshots import MissedSnapshot, Snapshots
from .mixtures import question_of_folders, question_of_tables
from .names import is_doubtful, name_filter, name_of_folder
from .numbers import question_of_numbers
from .operation_columns import is_of_tool, is_sequence, is_time_of_loading
from .operations import Operations, operation_of, question_of_operation
from .order import Order, Positions, offsets_of, propose_order
from .positions import question_of_connector
from .reserved_names import is_invalid_name, question_of_invalid_name
from .shapes import OUTBOX, Records
from .snapshots import question_of_lone_rows
from .sources import Source
from .table_changes import DeclaredTable, TableName, find_table
from .types import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .reading import Found, Reading
    from .unavailable import UnavailableValues


@dataclass(frozen=True)
class Entity:
    """What one topic or folder holds.

    Attributes:
        name: proposed for the source's table.
        files: where they are, and how much of them was read.
        records: their shape and number, and what is wrong with lines and files.
        source: connector, tables and time span of the events.
        key: proposed.
        order: proposed.
        positions: what the changes have to be ordered by.
        columns: proposed, in their order; empty where no row was read.
        encoding: of their values.
        operations: what changes do to rows.
        unavailable: values that rows do not have.
        snapshots: what they leave open.
        questions: what the files do not say, as sentences; empty where the records have no shape.
    """

    name: str
    files: Files
    records: Records
    source: Source
    key: Key
    order: Order
    positions: Positions
    columns: tuple[Column, ...]
    encoding: Encoding
    operations: Operations
    unavailable: UnavailableValues
    snapshots: Snapshots
    questions: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its name, and where it is from."""
        return f"{self.name} ({self.files.topic or self.files.location or '.'})"

    @property
    def shape(self) -> str | None:
        """``envelope``, ``flattened`` or ``row``; None for a topic of control records or of another tool's messages."""
        return self.records.shape(self.source.connector)

    @property
    def has_envelopes(self) -> bool:
        """Whether a flattened topic also has envelopes."""
        return self.records.has_envelopes(self.source.connector)

    @property
    def question_of_connector(self) -> str | None:
        """Which connector wrote flattened rows that do not show it; else None."""
        return question_of_connector(self.shape, self.source.connector)

    @property
    def is_outbox(self) -> bool:
        """Whether its rows are events of an outbox table, or what the EventRouter made of them."""
        return {column.name.lower().replace("_", "") for column in self.columns} >= OUTBOX

    @property
    def note_on_deletes(self) -> str | None:
        """What deletes without an image do not say; None without such deletes, and for MongoDB, which has its own."""
        count = self.operations.deletes_without_image
        if not count or self.source.connector == "mongodb":
            return None
        has, which = ("has", "which row it deletes") if count == 1 else ("have", "which rows they delete")
        said = f"{counted(count, 'delete')} {has} no image, so nothing says {which}"
        return f"{said}: REPLICA IDENTITY NOTHING, or a table without a key"


def describe_entity(
    found: Found, reading: Reading, declared: Mapping[TableName, DeclaredTable], missed: MissedSnapshot | None
) -> Entity:
    """Describe an entity.

    Args:
        found: its objects.
        reading: what was read of them.
        declared: the tables that schema changes of the same location tell of, by their names.
        missed: the latest snapshot that seems to have none of its rows, or None.
    """
    filter_ = name_filter(found.topic, found.layout) if found.is_shared and found.topic else None
    found = _without_doubtful_offsets(found, reading)
    connector = reading.source.connector
    shape = reading.records.shape(connector)
    table = find_table(declared, next(iter(reading.source.tables))) if len(reading.source.tables) == 1 else None
    is_read = shape or not reading.records.kinds
    columns = propose_columns(reading.columns, table, connector) if is_read else ()
    columns, operation_columns = _with_questions_of_operations(columns, reading, shape)
    name, files = _entity_name(found, reading), _files(found, reading, filter_, columns)
    key = _key(name, files, reading, shape, table, columns)
    before_images = BeforeImages(None)
    if connector == "postgresql":
        before_images = before_images_of(reading.evidence.changes, key.likely, is_flattened=shape == "flattened")
    entity = Entity(
        name=name,
        files=files,
        records=reading.records,
        source=reading.source,
        key=key,
        order=propose_order(
            shape or "envelope",
            reading.placement.missing_positions,
            _partitions(found, reading),
            has_message_keys=any(isinstance(message_key, dict) for message_key in reading.evidence.message_keys),
            times=_times(columns, reading.columns.values),
            folder_columns=[name for name in files.folder_columns if name not in key.likely],
        ),
        positions=_positions(files, reading, key),
        columns=columns,
        encoding=encoding_of(columns, reading.columns, table, key.likely),
        operations=Operations(
            dict(reading.ops), reading.without_image["d"], reading.without_image["u"], operation_columns, before_images
        ),
        unavailable=reading.unavailable,
        # What was not read may have its rows.
        snapshots=Snapshots(question_of_lone_rows(reading.snapshots), missed if files.are_all_read else None),
        questions=(),
    )
    return replace(entity, questions=tuple(_questions(entity, found, reading))) if shape else entity


def _without_doubtful_offsets(found: Found, reading: Reading) -> Found:
    """Two files of a partition do not share offsets: where they seem to, numbers in names are something else."""
    ranges = reading.files.offset_ranges
    if is_doubtful(found.layout) and any(offsets_of(some, are_all_read=False).overlaps for some in ranges.values()):
        ranges.clear()
        return replace(found, layout=None)
    return found


def _files(found: Found, reading: Reading, filter_: str | None, columns: Sequence[Column]) -> Files:
    formats = reading.files.formats or Counter(name.format or "json" for _, name in found.objects)
    partitioned_by = found.objects[0][1].partitioned_by
    names = {column.name for column in columns}
    return Files(
        location=found.folder,
        topic=found.topic,
        name_filter=filter_,
        layout=found.layout,
        format=formats.most_common(1)[0][0],
        compressions=tuple(sorted(reading.files.compressions)),
        partitioned_by=partitioned_by,
        # FieldPartitioner's; in the store envelope each line has its offset.
        folder_columns=tuple(name for name in partitioned_by if name in names and not reading.records.stored),
        objects=len(found.objects),
        length=sum(stored.length for stored, _ in found.objects),
        objects_read=reading.files.objects,
        objects_cut=reading.files.objects_cut,
    )


def _positions(files: Files, reading: Reading, key: Key) -> Positions:
    return Positions(
        missing=reading.placement.missing_positions,
        shared=len(reading.evidence.duplicates.shared_positions),
        offsets={
            partition: offsets_of(ranges, are_all_read=files.are_all_read)
            for partition, ranges in sorted(reading.files.offset_ranges.items())
        },
        moved_keys=reading.evidence.moved_keys(key.likely) if files.partitioned_by else 0,
    )


# Types that a column has which is a key alone; decimals have a scale, or are asked about.
_TYPES_OF_KEYS = ("tinyint", "smallint", "int", "bigint", "string", "binary", "decimal")


def _key(
    name: str, files: Files, reading: Reading, shape: str | None, table: DeclaredTable | None, columns: Sequence[Column]
) -> Key:
    apart = question_of_tables(reading.source.names, reading.files.columns)
    if apart:
        return Key((), "rows that may be of several tables", apart)
    if table:
        return Key(table.key, "the schema changes beside it")
    if not shape:
        return Key((), "a topic of control records")
    names, folders = [column.name for column in columns], files.partitioned_by
    if reading.source.connector == "mongodb" and documents.KEY in names:
        return Key((documents.KEY,), "MongoDB's key of every document")
    changes, message_keys = reading.evidence.changes, reading.evidence.message_keys
    of_messages = key_of_messages(message_keys, names)
    are_all = files.are_all_read and not reading.records.errors and not set(folders) & set(names)
    # By default ExtractNewRecordState leaves deletes out.
    are_all = are_all and (shape != "flattened" or any(change.op == "d" for change in changes))
    if of_messages and shape != "row" and not are_shared(changes, of_messages.columns, are_all=are_all):
        return of_messages
    filled = [column.name for column in columns if not column.has_nulls]
    weak = [column.name for column in columns if not column.type.data_type.startswith(_TYPES_OF_KEYS)]
    candidates = Candidates(name, [name for name in filled if not is_of_tool(name)] or filled, folders, weak)
    rows = [change.after for change in changes if change.after]
    key = key_of_rows(candidates, rows) if shape == "row" else key_by_data(candidates, changes)
    if of_messages:
        is_none = shape != "row" or is_coarser(of_messages.columns, key, rows)
        return contradicted(of_messages, key) if is_none else of_messages
    key = checked_against_message_keys(key, message_keys, rows)
    return questioned_by_duplicates(key, reading.evidence.duplicates.doubtful)


def _with_questions_of_operations(
    columns: tuple[Column, ...], reading: Reading, shape: str | None
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns with a question at those that may say which rows are deletes, and the names of these."""
    if shape not in ("row", "flattened"):
        return columns, ()
    asked, names = [], []
    for column in columns:
        values = reading.columns.values.get(column.name, Values())
        operation = operation_of(column.name, values, is_row=shape == "row")
        if operation:
            names.append(column.name)
            question = question_of_operation(column.name, operation, column.type.data_type)
            column = replace(column, type=replace(column.type, question=question))
        asked.append(column)
    return tuple(asked), tuple(names)


def _times(columns: Sequence[Column], values: Mapping[str, Values]) -> list[str]:
    """Columns that may order rows, a tool's own first; texts in ISO 8601 have the order of their times."""
    times = [
        column.name
        for column in columns
        if column.type.data_type.startswith("timestamp")
        or (column.name in values and values[column.name].are_iso_times)
    ]
    numbered = [column.name for column in columns if is_sequence(column.name)]
    return numbered + [name for name in times if not is_time_of_loading(name)]


def _partitions(found: Found, reading: Reading) -> int:
    """How many partitions of Kafka have offsets in the names of all objects, or else in all lines that were read."""
    named = {name.partition for _, name in found.objects if name.offset is not None}
    if found.layout and all(name.offset is not None for _, name in found.objects):
        return len(named)
    return len(reading.files.offset_ranges) if reading.records.stored == reading.records.lines else 0


def _entity_name(found: Found, reading: Reading) -> str:
    if len(reading.source.tables) == 1:
        return next(iter(reading.source.tables))[-1]
    if found.topic:
        return found.topic.rpartition(".")[2]
    folder = name_of_folder(found.folder) or name_of_folder(found.location) or "rows"
    # There the folder has the name of a topic.
    return folder.rpartition(".")[2] if found.layout else folder


def _questions(entity: Entity, found: Found, reading: Reading) -> Iterator[str]:
    columns = entity.columns
    asked = [
        question_of_folders(found.folder, found.alike),
        entity.key.question,
        entity.question_of_connector,
        entity.order.question,
        entity.encoding.decimals.question,
        entity.operations.before_images.question,
        entity.snapshots.question,
        *(column.type.question for column in columns),
    ]
    yield from (question for question in asked if question)
    kinds = reading.records.kinds.most_common()
    if len(kinds) > 1 and not entity.has_envelopes:
        counts = " and ".join(f"{count} are of shape {kind}" for kind, count in kinds)
        yield f"of the records {counts}: which files have which? A table of the source reads one shape."
    formats = reading.files.formats.most_common()
    if len(formats) > 1:
        counts = " and ".join(f"{count} are {name}" for name, count in formats)
        yield f"of the objects {counts}: which shall be read (pathGlobFilter)? A table of the source reads one format."
    alike = names_alike(columns)
    if alike:
        yield f"which of {', '.join(alike)} shall be read? Spark takes names that differ in case alone for one."
    yield from (question_of_added_column(column.name) for column in columns if column.lacks_default)
    if entity.encoding.possible_times:
        yield question_of_numbers(entity.encoding.possible_times)
    yield from (question_of_invalid_name(column.name) for column in columns if is_invalid_name(column.name))
    if entity.snapshots.missed:
        yield entity.snapshots.missed.question
