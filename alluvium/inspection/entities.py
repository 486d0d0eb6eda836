"""What the objects below a location are: one entity for each topic, or each folder without topics."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from spark_udfs.record import describe

from .defaults import default_by_declaration, default_by_schema
from .delete_images import has_whole_images
from .field_versions import newest_that_holds_all, propose_from_versions, versions_of_fields
from .keys import Key, held_against_messages, key_by_data, key_of_messages, key_of_rows
from .living_rows import RowChange, transaction_of
from .mixtures import question_of_folders, question_of_tables, without_numbers
from .names import ObjectName, name_filter, name_of_folder, parse_name
from .objects import UnreadableObjectError
from .operations import deletes_by, question_of_deletes
from .order import Order, propose_order
from .records import Content, read_content
from .schemas import Schema
from .shapes import Record, UnreadableRecordError, is_outbox, recognise
from .table_changes import DeclaredTable, TableName, declared_tables, find_table
from .types import ProposedType, Values, propose_from_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .objects import Storage, StoredObject

MAX_CHANGES_FOR_KEY = 20_000
"""Changes of one entity that the search of its key plays; more add time, hardly certainty."""


@dataclass(frozen=True)
class Sampling:
    """How much is read of a location.

    Attributes:
        objects: of each entity, at most; the first, the last, and others evenly between them.
        object_bytes: of each object, at most, from its beginning (of Parquet, objects up to this size); of what is
            compressed also as much of its text.
    """

    objects: int = 50
    object_bytes: int = 16 * 1024 * 1024

    @property
    def entity_bytes(self) -> int:
        """Of each entity, at most: a quarter of a minute's reading, unless a user has asked for other bounds."""
        if self == Sampling():
            return 3 * self.object_bytes
        return self.objects * self.object_bytes


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
    """

    name: str
    type: ProposedType
    has_nulls: bool
    hides_nulls: bool = False
    added_default: Any = None


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
        layout: ``confluent``, ``lenses``, or None.
        format: ``json``, ``avro`` or ``parquet``.
        compressions: of its objects; empty for none.
        partitioned_by: names of Hive-style folders below the location.
        shape: ``envelope``, ``flattened``, ``row``; None for a topic of control records alone.
        has_store_envelope: whether the sink has kept key, headers and metadata.
        is_outbox: whether its rows are events of an outbox table, or what the EventRouter made of them.
        connector: of ``source``, or by the fields of the position that were added to flattened rows; or None.
        has_whole_images: whether images before have more of their rows than a key; None where nothing shows it.
        versions: of the connector.
        key: proposed.
        order: proposed.
        operation_columns: of rows and flattened rows, that may say which of them are deletes; each is asked about.
        names_connect_types: whether a schema in the files has a type of a column in Kafka Connect's own names.
        columns: proposed, in their order.
        questions: what the files cannot tell, in words.
        ops: number of changes by op.
        controls: number of control records by kind.
        added_fields: what ExtractNewRecordState has added to flattened rows, without its prefix (``deleted``, ``lsn``).
        placeholders: by column, the number of values that PostgreSQL has not sent because an update did not touch them.
        moved_keys: keys whose rows lie in more than one Hive-style folder.
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
    shape: str | None
    has_store_envelope: bool
    is_outbox: bool
    connector: str | None
    has_whole_images: bool | None
    versions: tuple[str, ...]
    key: Key
    order: Order
    operation_columns: tuple[str, ...]
    names_connect_types: bool
    columns: tuple[Column, ...]
    questions: tuple[str, ...]
    ops: Mapping[str, int]
    controls: Mapping[str, int]
    added_fields: tuple[str, ...]
    placeholders: Mapping[str, int]
    moved_keys: int
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

    @property
    def is_read_whole(self) -> bool:
        """Whether nothing was left out: offsets that no line has are missing only then."""
        return self.objects_read == self.objects and not self.objects_cut


@dataclass
class _Found:
    """The objects of one entity, as they are listed.

    Attributes:
        folder: below the location.
        topic: of Kafka, or None.
        layout: of the names, or None.
        location: that was inspected.
        alike: folders that may be of the same table, this one among them: they have the topic too, or they have none
            and their names differ in numbers alone.
        objects: with what their names say.
    """

    folder: str
    topic: str | None
    layout: str | None
    location: str = ""
    alike: list[str] = field(default_factory=list)
    objects: list[tuple[StoredObject, ObjectName]] = field(default_factory=list)


def list_entities(storage: Storage) -> tuple[list[_Found], list[str]]:
    """Group the objects of a location by folder and topic, and list those that are no change files."""
    found: dict[tuple[str, str | None], _Found] = {}
    others: list[str] = []
    for stored in storage.objects():
        name = parse_name(stored.path)
        if name.format is None and name.topic is None:
            others.append(stored.path)
            continue
        key = (name.folder, name.topic)
        entity = found.setdefault(key, _Found(name.folder, name.topic, name.layout, storage.location))
        entity.objects.append((stored, name))
    alike: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for entity in found.values():
        entity.alike = alike[entity.topic, "" if entity.topic else without_numbers(entity.folder)]
        entity.alike.append(entity.folder)
        entity.objects.sort(key=lambda entry: (entry[1].partition or 0, entry[1].offset or 0, entry[0].path))
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or ""))], others


def sample(objects: Sequence[Any], count: int) -> list[Any]:
    """The first, the last, and others evenly between them."""
    if len(objects) <= count:
        return list(objects)
    step = (len(objects) - 1) / (count - 1) if count > 1 else 0
    return [objects[round(number * step)] for number in range(count)]


@dataclass
class _Reading:
    """What has been read of an entity."""

    kinds: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    controls: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    compressions: set[str] = field(default_factory=set)
    connectors: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    tables: set[TableName] = field(default_factory=set)
    columns_of_files: dict[str, set[str]] = field(default_factory=dict)
    message_keys: list[Any] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    places: set[tuple[int, int]] = field(default_factory=set)
    added_fields: set[str] = field(default_factory=set)
    placeholders: Counter[str] = field(default_factory=Counter)
    schemas: dict[int, Schema] = field(default_factory=dict)
    schema_times: dict[int, float] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    images: int = 0
    first_columns: frozenset[str] = frozenset()
    first_change: datetime | None = None
    last_change: datetime | None = None
    errors: list[tuple[str, int, str]] = field(default_factory=list)
    lines: int = 0
    stored: int = 0
    objects: int = 0
    objects_cut: int = 0
    says_meaning: bool = True
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    declared: dict[TableName, DeclaredTable] = field(default_factory=dict)

    def add_content(self, content: Content, name: ObjectName, path: str) -> None:
        self.formats[content.format] += 1
        self.compressions |= {content.compression} if content.compression else set()
        self.errors += [(path, line, error) for line, error in content.errors]
        self.says_meaning = self.says_meaning and content.says_meaning
        offsets: list[int] = []
        for line, value in content.lines:
            try:
                record = recognise(value, content.schema)
                offset = self._offset(record, name, line)
                self.add_record(record, is_copy=self._is_copy(name.partition, offset))
            except UnreadableRecordError as error:
                self.errors.append((path, line, str(error)))
                continue
            except Exception as error:
                # One line that nobody has thought of is no reason to say nothing of all others.
                self.errors.append((path, line, f"no change that can be read: {describe(error)}"))
                continue
            self.lines += 1
            self.columns_of_files.setdefault(path, set()).update(record.after or ())
            # As many as there are changes: in which folder each lies.
            self.folders += [path.rpartition("/")[0]] * (len(self.changes) - len(self.folders))
            if offset is not None:
                offsets.append(offset)
        if name.partition is not None and offsets:
            ends_by_name = name.layout == "lenses" and name.offset is not None
            last = name.offset if name.offset is not None and ends_by_name else max(offsets)
            self.spans.setdefault(name.partition, []).append((min(offsets), last))

    @staticmethod
    def _offset(record: Record, name: ObjectName, line: int) -> int | None:
        if record.offset is None and name.offset is not None and name.layout == "confluent":
            return name.offset + line - 1
        return record.offset

    def _is_copy(self, partition: int | None, offset: int | None) -> bool:
        """Whether a record of the same place in Kafka was there before, which takes the place of this one."""
        if partition is None or not isinstance(offset, int) or len(self.changes) >= MAX_CHANGES_FOR_KEY:
            return False
        is_copy = (partition, offset) in self.places
        self.places.add((partition, offset))
        return is_copy

    def add_record(self, record: Record, *, is_copy: bool = False) -> None:
        self.stored += record.is_stored
        if record.kind not in ("envelope", "flattened", "row"):
            self.controls[record.kind] += 1
            if record.kind == "schema_change":
                for name, table in declared_tables(record.value).items():
                    self.declared[name] = table.following(self.declared.get(name))
            if record.kind == "truncate" and not is_copy:
                self.changes.append(RowChange("t", None, None))
            return
        self.kinds[record.kind] += 1
        source = record.source or {}
        moment = self._add_source(source)
        op = record.op or ("d" if record.after is None else "c")
        if record.kind == "flattened":
            self.added_fields |= source.keys()
        if record.kind != "row":
            self.ops[op] += 1
        if record.key is not None:
            self.message_keys.append(record.key)
        if record.schema:
            self.schemas[id(record.schema)] = record.schema
            before_it = self.schema_times.get(id(record.schema), 0.0)
            self.schema_times[id(record.schema)] = max(before_it, moment.timestamp()) if moment else before_it
        deleted = op == "d" and record.kind == "flattened"
        before, after = (record.after, None) if deleted else (record.before, record.after)
        if after is not None:
            self._add_image(after)
        if not is_copy and len(self.changes) < MAX_CHANGES_FOR_KEY:
            op = "r" if record.kind == "row" else op
            self.changes.append(RowChange(op, before, after, transaction_of(op, source)))

    def _add_image(self, image: Mapping[str, Any]) -> None:
        if not self.images:
            self.first_columns = frozenset(image)
        self.images += 1
        for name, value in image.items():
            seen = self.values.get(name)
            if seen is None:
                seen = self.values[name] = Values()
            seen.add(value)
            if isinstance(value, str | list) and _is_placeholder(value):
                self.placeholders[name] += 1

    def _add_source(self, source: Mapping[str, Any]) -> datetime | None:
        """Add what an event says of where it is from; the time of the change, where it says that."""
        if source.get("connector"):
            self.connectors[str(source["connector"])] += 1
        if source.get("version"):
            self.versions.add(str(source["version"]))
        table = source.get("table") or source.get("collection")
        if table:
            names = (source.get("db"), source.get("schema"), table)
            self.tables.add(tuple(str(name) for name in names if name))
        try:
            moment = datetime.fromtimestamp(int(source["ts_ms"]) / 1000, timezone.utc)
        except (KeyError, TypeError, ValueError, OverflowError, OSError):
            return None
        self.first_change = min(self.first_change or moment, moment)
        self.last_change = max(self.last_change or moment, moment)
        return moment


def read_objects(storage: Storage, found: _Found, sampling: Sampling, done: Callable[[int], None]) -> _Reading:
    """Read a sample of an entity's objects.

    Args:
        storage: of the location.
        found: the entity's objects.
        sampling: how many of them, and how much of each.
        done: called with the number of objects that have been read since.
    """
    reading = _Reading()
    chosen = _within_bounds(found.objects, sampling)
    left = sampling.entity_bytes
    for number, (stored, name) in enumerate(chosen):
        # What is compressed may be as much text as its share of what is left to read.
        text_bytes = min(sampling.object_bytes, max(stored.length, left // (len(chosen) - number)))
        left -= _read_object(storage, stored, name, sampling.object_bytes, text_bytes, reading)
        done(1)
    done(min(len(found.objects), sampling.objects) - len(chosen))
    return reading


def _within_bounds(
    objects: Sequence[tuple[StoredObject, ObjectName]], sampling: Sampling
) -> list[tuple[StoredObject, ObjectName]]:
    """As many objects as may be read; at least the first and the last."""
    for count in range(sampling.objects, 2, -1):
        chosen = sample(objects, count)
        if sum(min(stored.length, sampling.object_bytes) for stored, _ in chosen) <= sampling.entity_bytes:
            return chosen
    return sample(objects, min(sampling.objects, 2))


def _read_object(
    storage: Storage, stored: StoredObject, name: ObjectName, limit: int, text_limit: int, reading: _Reading
) -> int:
    """Add what an object has to the reading; the number of bytes of text that were read."""
    is_cut = stored.length > limit
    # The end of a Parquet file says where everything is: its beginning alone shows nothing.
    if is_cut and name.format == "parquet":
        return 0
    try:
        raw = storage.read(stored.path, limit if is_cut else None)
    except UnreadableObjectError as error:
        reading.errors.append((stored.path, 0, str(error)))
        return 0
    try:
        content = read_content(raw, stored.path, is_cut=is_cut, text_bytes=text_limit)
    except Exception as error:
        # Such as a schema in a file's footer that is none: it is no reason to say nothing of all other files.
        reading.errors.append((stored.path, 0, f"corrupt: {describe(error)}"))
        return 0
    reading.objects += 1
    reading.objects_cut += content.is_cut
    reading.add_content(content, name, stored.path)
    return content.text_bytes


def describe_entity(
    found: _Found, reading: _Reading, shared: bool, declared: Mapping[TableName, DeclaredTable]
) -> Entity:
    """Say what an entity is.

    Args:
        found: its objects.
        reading: what was read of them.
        shared: whether other files lie in the same folder.
        declared: the tables that schema changes of the same location tell of, by their names.
    """
    shape = reading.kinds.most_common(1)[0][0] if reading.kinds else None
    table = find_table(declared, next(iter(reading.tables))) if len(reading.tables) == 1 else None
    columns = _columns(reading, table)
    conditions = _conditions_of_deletes(reading, columns) if shape in ("row", "flattened") else {}
    columns = tuple(_asked_for_deletes(column, conditions.get(column.name)) for column in columns)
    names = [column.name for column in columns]
    key = _key(found, reading, shape, table, columns)
    order = propose_order(
        shape or "envelope",
        reading.added_fields,
        _partitions(found, reading),
        has_message_keys=any(isinstance(message_key, dict) for message_key in reading.message_keys),
        times=_times(columns, reading),
    )
    formats = reading.formats or Counter(name.format or "json" for _, name in found.objects)
    return Entity(
        name=_entity_name(found, reading),
        topic=found.topic,
        tables=tuple(sorted(".".join(name) for name in reading.tables)),
        location=found.folder,
        name_filter=name_filter(found.topic, found.layout) if shared and found.topic else None,
        layout=found.layout,
        format=formats.most_common(1)[0][0],
        compressions=tuple(sorted(reading.compressions)),
        partitioned_by=found.objects[0][1].partitioned_by,
        shape=shape,
        has_store_envelope=reading.stored > 0,
        is_outbox=is_outbox(set(names)),
        connector=_connector(reading),
        has_whole_images=has_whole_images(reading.changes, key.columns, is_flattened=shape == "flattened"),
        versions=tuple(sorted(reading.versions)),
        key=key,
        order=order,
        operation_columns=tuple(conditions),
        names_connect_types=_names_connect_types(reading),
        columns=columns,
        questions=tuple(_questions(found, key, order, columns, reading, table)) if shape else (),
        ops=dict(reading.ops),
        controls=dict(reading.controls),
        added_fields=tuple(sorted(reading.added_fields)),
        placeholders=dict(reading.placeholders),
        moved_keys=_moved_keys(reading, key) if found.objects[0][1].partitioned_by else 0,
        schema_versions=len({repr(schema) for schema in reading.schemas.values()}),
        offsets={
            partition: _offsets(spans, is_read_whole=reading.objects == len(found.objects) and not reading.objects_cut)
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
    )


def _key(
    found: _Found, reading: _Reading, shape: str | None, table: DeclaredTable | None, columns: Sequence[Column]
) -> Key:
    apart = question_of_tables({".".join(name) for name in reading.tables}, reading.columns_of_files)
    if apart:
        return Key((), "rows that may be of several tables", apart)
    if table:
        return Key(table.key, "the schema changes beside it")
    if not shape:
        return Key((), "a topic of control records")
    of_messages = key_of_messages(reading.message_keys, [column.name for column in columns])
    if of_messages:
        return of_messages
    name, folders = _entity_name(found, reading), found.objects[0][1].partitioned_by
    candidates = [column.name for column in columns if not column.has_nulls]
    images = [change.after for change in reading.changes if change.after]
    key = (
        key_of_rows(name, images, candidates, folders)
        if shape == "row"
        else key_by_data(name, reading.changes, candidates, folders)
    )
    return held_against_messages(key, reading.message_keys, images)


def _conditions_of_deletes(reading: _Reading, columns: Sequence[Column]) -> dict[str, str]:
    found = {column.name: deletes_by(column.name, reading.values.get(column.name, Values())) for column in columns}
    return {name: condition for name, condition in found.items() if condition}


def _asked_for_deletes(column: Column, condition: str | None) -> Column:
    if condition is None:
        return column
    question = question_of_deletes(column.name, condition, column.type.data_type)
    return replace(column, type=replace(column.type, question=question))


def _names_connect_types(reading: _Reading) -> bool:
    """Whether a column has a type that Kafka Connect itself has named."""
    fields = [said for schema in reading.schemas.values() for said in schema.fields.values()]
    return any((said.name or "").startswith("org.apache.kafka.connect.data.") for said in fields)


def _times(columns: Sequence[Column], reading: _Reading) -> list[str]:
    """Columns that may order rows; texts in ISO 8601 have the order of their times."""
    return [
        column.name
        for column in columns
        if column.type.data_type.startswith("timestamp")
        or (column.name in reading.values and reading.values[column.name].are_iso_times)
    ]


def _partitions(found: _Found, reading: _Reading) -> int:
    """How many partitions of Kafka have offsets in the names of all objects, or else in all lines that were read."""
    named = {name.partition for _, name in found.objects if name.offset is not None}
    if found.layout and all(name.offset is not None for _, name in found.objects):
        return len(named)
    return len(reading.spans) if reading.stored == reading.lines else 0


_PLACEHOLDER = "__debezium_unavailable_value"
# As text, inside a JSON text, as bytes in base64, and as the name-based UUID of the text.
_PLACEHOLDERS = (_PLACEHOLDER, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "b68a35a7-17ad-35b3-af2a-ae46edb4545a")
_HAS_PLACEHOLDER = re.compile("|".join(map(re.escape, _PLACEHOLDERS)))
_SHORTEST_PLACEHOLDER = min(map(len, _PLACEHOLDERS))
_PLACEHOLDER_CODES = [ord(letter) for letter in _PLACEHOLDER]


def _is_placeholder(value: str | list[Any]) -> bool:
    if isinstance(value, str):
        # Most texts are too short to hold one.
        return len(value) >= _SHORTEST_PLACEHOLDER and _HAS_PLACEHOLDER.search(value) is not None
    return value == _PLACEHOLDER_CODES or value in ([_PLACEHOLDERS[0]], [_PLACEHOLDERS[2]])


def _moved_keys(reading: _Reading, key: Key) -> int:
    if not key.columns:
        return 0
    folders: dict[Any, set[str]] = {}
    for change, folder in zip(reading.changes, reading.folders, strict=True):
        image = change.after or change.before
        if image is not None:
            folders.setdefault(tuple(str(image.get(name)) for name in key.columns), set()).add(folder)
    return sum(1 for found in folders.values() if len(found) > 1)


# What only one connector's position has, where ExtractNewRecordState adds it.
_CONNECTORS = {
    "lsn": "postgresql",
    "sequence": "postgresql",
    "pos": "mysql",
    "commit_lsn": "sqlserver",
    "scn": "oracle",
    "ord": "mongodb",
}


def _connector(reading: _Reading) -> str | None:
    if reading.connectors:
        return reading.connectors.most_common(1)[0][0]
    return next((name for field, name in _CONNECTORS.items() if field in reading.added_fields), None)


def _entity_name(found: _Found, reading: _Reading) -> str:
    if len(reading.tables) == 1:
        return next(iter(reading.tables))[-1]
    if found.topic:
        return found.topic.rpartition(".")[2]
    return name_of_folder(found.folder) or name_of_folder(found.location) or "rows"


_NUMBERS = ("int32", "int64")


def _columns(reading: _Reading, table: DeclaredTable | None) -> tuple[Column, ...]:
    schemas = sorted(reading.schemas.items(), key=lambda entry: reading.schema_times[entry[0]])
    versions = versions_of_fields(schema for _, schema in schemas)
    described = {name: newest_that_holds_all(found) for name, found in versions.items()}
    columns = []
    for name in [*described, *(name for name in reading.values if name not in described)]:
        values = reading.values.get(name, Values())
        if table and name in table.types:
            proposed = table.types[name]
        elif (
            name in described
            and described[name].type != "null"
            and (reading.says_meaning or described[name].name or described[name].type not in (*_NUMBERS, "string"))
        ):
            proposed = propose_from_versions(versions[name])
        else:
            proposed = propose_from_values(name, values, described.get(name))
        said = described.get(name)
        hides_nulls = said is not None and said.optional and said.has_default and said.default is not None
        is_added = any(name not in schema.fields for schema in reading.schemas.values())
        sent, default = _added_default(
            said if is_added else None, table.added_defaults.get(name) if table else None, proposed
        )
        if sent is not None and default is None:
            proposed = replace(proposed, question=_question_of_default(name, sent, proposed))
        columns.append(Column(name, proposed, values.present < reading.images, hides_nulls, default))
    return tuple(columns)


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


def _questions(
    found: _Found, key: Key, order: Order, columns: Sequence[Column], reading: _Reading, table: DeclaredTable | None
) -> Iterator[str]:
    asked = [
        question_of_folders(found.folder, found.alike),
        key.question,
        order.question,
        *(column.type.question for column in columns),
    ]
    yield from (question for question in asked if question)
    if len(reading.kinds) > 1:
        counts = " and ".join(f"{count} are of shape {kind}" for kind, count in reading.kinds.most_common())
        yield f"of the records {counts}: which files have which? A table of the source reads one shape."
    if len(reading.formats) > 1:
        counts = " and ".join(f"{count} are {name}" for name, count in reading.formats.most_common())
        yield f"of the objects {counts}: which shall be read (pathGlobFilter)? A table of the source reads one format."
    lowered = Counter(column.name.lower() for column in columns)
    alike = [column.name for column in columns if lowered[column.name.lower()] > 1]
    if alike:
        yield f"which of {', '.join(alike)} shall be read? Spark takes names that differ in case alone for one."
    says_defaults = bool(reading.schemas) and reading.says_meaning
    for column in columns:
        is_added = column.name in reading.values and column.name not in reading.first_columns
        if is_added and column.added_default is None and not table and not says_defaults:
            yield f"{column.name} was added later: which default have the rows from before, if any?"
    numbers = [
        column.name
        for column in columns
        if column.type.data_type in ("int", "bigint")
        and not column.type.question
        and not column.type.semantic_type
        and column.name not in key.columns
    ]
    if numbers and not table and not says_defaults:
        yield f"which of {', '.join(numbers)} count days or are times? Nothing in the records says what a number means."


def _offsets(spans: Iterable[tuple[int, int]], *, is_read_whole: bool) -> Offsets:
    ordered = sorted(spans)
    holes = overlaps = 0
    reached = ordered[0][0] - 1
    for first, last in ordered:
        holes += max(0, first - reached - 1)
        overlaps += max(0, min(last, reached) - first + 1)
        reached = max(reached, last)
    return Offsets(ordered[0][0], reached, holes if is_read_whole else None, overlaps)
