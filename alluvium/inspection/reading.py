"""Which objects below a location are whose, and what the records of some of them show."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from alluvium.spark_udfs.record import describe

from .current_rows import RowChange, has_values, transaction_of
from .deliveries import Deliveries
from .lake_tables import LAKE_TABLE, table_above, table_of, tables_in
from .mixtures import without_numbers
from .names import ObjectName, has_last_offsets, has_other_extension, is_beside_values, parse_name
from .objects import UnreadableObjectError, is_hidden
from .order import Placement
from .records import Content, read_content
from .schemas import Schema
from .shapes import Record, UnreadableRecordError, recognise
from .snapshots import Snapshot, add_snapshot
from .table_changes import DeclaredTable, TableName, declared_tables
from .types import Values
from .unavailable import is_placeholder, reference_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from .objects import Storage, StoredObject

MAX_CHANGES_FOR_KEY = 20_000
"""Changes of one entity that the search of its key plays; more add time, hardly certainty."""

OBJECTS_LOOKED_INTO, BYTES_LOOKED_INTO = 3, 1024 * 1024
"""Of files of one folder and extension that no sink's or format's name has: how many, and how much of each."""

MAX_ORDERS = 100
"""Different orders of an entity's columns; a document may have any, and no more of them tell anything."""


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


@dataclass
class Found:
    """The objects of one entity, as they are listed.

    Attributes:
        folder: below the location.
        topic: of Kafka, or None.
        layout: of the names, or None.
        location: that was inspected.
        alike: folders that may be of the same table, this one among them: they have the topic too, or they have none
            and their names differ in numbers alone.
        objects: with what their names say.
        table: format of the table that they are, or None.
    """

    folder: str
    topic: str | None
    layout: str | None
    location: str = ""
    alike: list[str] = field(default_factory=list)
    objects: list[tuple[StoredObject, ObjectName]] = field(default_factory=list)
    table: str | None = None


def list_entities(storage: Storage) -> tuple[list[Found], list[str], list[str]]:
    """Group the objects of a location by folder and topic.

    Returns:
        The groups, the paths of objects that are no change files, and those of change files that Spark does not list.
    """
    found: dict[tuple[str, str | None], Found] = {}
    others: list[str] = []
    named: list[tuple[StoredObject, ObjectName]] = []
    unnamed: list[tuple[StoredObject, ObjectName]] = []
    unlisted: list[tuple[StoredObject, ObjectName]] = []
    listed = list(storage.objects())
    above = table_above(storage)
    tables = {"": above} if above else tables_in(stored.path for stored in listed)
    for stored in listed:
        name = parse_name(stored.path)
        folder = table_of(stored.path, tables) if tables else None
        if folder is not None:
            entity = found.setdefault((folder, None), Found(folder, None, None, storage.location, table=tables[folder]))
            entity.objects.append((stored, name))
            continue
        if not storage.file and is_hidden(stored.path):
            unlisted.append((stored, name))
            continue
        (named if name.format or name.topic else unnamed).append((stored, name))
    for stored, name in [*named, *_holding_records(storage, unnamed, others)]:
        key = (name.folder, name.topic)
        entity = found.setdefault(key, Found(name.folder, name.topic, name.layout, storage.location))
        entity.objects.append((stored, name))
    alike: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for entity in found.values():
        entity.alike = alike[entity.topic, "" if entity.topic else without_numbers(entity.folder)]
        entity.alike.append(entity.folder)
        entity.objects.sort(key=lambda entry: (entry[1].partition or 0, entry[1].offset or 0, entry[0].path))
    hidden = [stored.path for stored, _ in _holding_records(storage, _of_users(unlisted), [])]
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or ""))], others, hidden


# What Spark, Hadoop, the lake formats and operating systems keep in such files.
_OWN_FILES = re.compile(
    r"(^|/)(_SUCCESS|_started|_committed|_temporary|_spark_metadata|_delta_log|_metadata|_common_metadata|_change_data|"
    r"_symlink_format_manifest|\.hoodie|\.metadata|\.git|\.DS_Store|\.ipynb_checkpoints|\.Trash|\._)|\.crc$"
)


def _of_users(objects: Sequence[tuple[StoredObject, ObjectName]]) -> list[tuple[StoredObject, ObjectName]]:
    return [(stored, name) for stored, name in objects if stored.length and not _OWN_FILES.search(stored.path)]


def _holding_records(
    storage: Storage, objects: Sequence[tuple[StoredObject, ObjectName]], others: list[str]
) -> Iterator[tuple[StoredObject, ObjectName]]:
    """Objects whose names say nothing and whose contents are records; the paths of all others are added to `others`.

    Those of a folder with the same extensions are alike.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[tuple[StoredObject, ObjectName]]] = defaultdict(list)
    for stored, name in objects:
        if is_beside_values(stored.path):
            others.append(stored.path)
        else:
            alike[name.folder, tuple(PurePosixPath(stored.path).suffixes)].append((stored, name))
    for group in alike.values():
        if any(_has_records(storage, stored.path) for stored, _ in sample(group, OBJECTS_LOOKED_INTO)):
            yield from group
        else:
            others.extend(stored.path for stored, _ in group)


def _has_records(storage: Storage, path: str) -> bool:
    """Whether a file has what has the form of records: a container, a change, or several JSON objects.

    One JSON object that is no change may be anything, unless nothing but a codec's extension says what the file is.
    """
    try:
        content = read_content(storage.read(path, BYTES_LOOKED_INTO), path, is_cut=True)
        kinds = [recognise(value, content.schema).kind for _, value in content.lines if value]
    except Exception:
        # Whatever it is, nobody has called it a change file.
        return False
    is_told = not has_other_extension(path) or len(kinds) > 1 or not {"envelope", "flattened"}.isdisjoint(kinds)
    return content.format != "json" or (is_told and bool(kinds))


def sample(objects: Sequence[Any], count: int) -> list[Any]:
    """The first, the last, and others evenly between them."""
    if len(objects) <= count:
        return list(objects)
    step = (len(objects) - 1) / (count - 1) if count > 1 else 0
    return [objects[round(number * step)] for number in range(count)]


@dataclass
class Reading:
    """What has been read of an entity."""

    kinds: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    controls: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    compressions: set[str] = field(default_factory=set)
    connectors: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    servers: set[str] = field(default_factory=set)
    tables: set[TableName] = field(default_factory=set)
    snapshots: dict[Hashable, Snapshot] = field(default_factory=dict)
    columns_of_files: dict[str, set[str]] = field(default_factory=dict)
    message_keys: list[Any] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    places: set[tuple[int, int]] = field(default_factory=set)
    deliveries: Deliveries = field(default_factory=Deliveries)
    placement: Placement = field(default_factory=Placement)
    added_fields: set[str] = field(default_factory=set)
    placeholders: Counter[str] = field(default_factory=Counter)
    references: dict[str, Counter[str]] = field(default_factory=dict)
    schemas: dict[int, Schema] = field(default_factory=dict)
    schema_times: dict[int, float] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    values_of_deletes: dict[str, Values] = field(default_factory=dict)
    orders: dict[tuple[str, ...], float] = field(default_factory=dict)
    images: int = 0
    empty_images: int = 0
    deletes_of_nothing: int = 0
    partial_updates: int = 0
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
        """Add the records of one object; what cannot be read of it is added to `errors`."""
        self.formats[content.format] += 1
        self.compressions |= {content.compression} if content.compression else set()
        self.errors += [(path, line, error) for line, error in content.errors]
        self.says_meaning = self.says_meaning and content.says_meaning
        offsets: list[int] = []
        for line, value in content.lines:
            try:
                record = recognise(value, content.schema)
                offset = self._offset(record, name, line)
                self.add_record(record, name.partition, is_copy=self._is_copy(name.partition, offset))
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
            ends_by_name = name.offset is not None and has_last_offsets(name.layout)
            last = name.offset if name.offset is not None and ends_by_name else max(offsets)
            self.spans.setdefault(name.partition, []).append((min(offsets), last))

    @staticmethod
    def _offset(record: Record, name: ObjectName, line: int) -> int | None:
        if record.offset is None and name.offset is not None and not has_last_offsets(name.layout):
            return name.offset + line - 1
        return record.offset

    def _is_copy(self, partition: int | None, offset: int | None) -> bool:
        """Whether a record of the same place in Kafka was there before, which takes the place of this one."""
        if partition is None or not isinstance(offset, int) or len(self.changes) >= MAX_CHANGES_FOR_KEY:
            return False
        is_copy = (partition, offset) in self.places
        self.places.add((partition, offset))
        return is_copy

    def add_record(self, record: Record, partition: int | None = None, *, is_copy: bool = False) -> None:
        """Add one record.

        Args:
            record: as recognised.
            partition: of Kafka, or None.
            is_copy: whether a record of the same place in Kafka was there before; the search of a key passes it over.
        """
        self.stored += record.is_stored
        if record.kind in ("envelope", "flattened", "truncate"):
            self.placement.add(record)
        if record.kind not in ("envelope", "flattened", "row"):
            self.controls[record.kind] += 1
            if record.kind == "schema_change":
                for name, table in declared_tables(record.value).items():
                    self.declared[name] = table.following(self.declared.get(name))
            if record.kind == "truncate" and not is_copy:
                self._add_change("t", record, partition)
            return
        self.kinds[record.kind] += 1
        source = record.source or {}
        moment = self._add_source(source)
        op = record.op or ("d" if record.after is None else "c")
        if moment:
            add_snapshot(self.snapshots, op, source, moment)
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
        before, after = _images_of(op, record)
        # A document is named by the message's key, too, where the sink has stored that.
        self.deletes_of_nothing += op == "d" and not has_values(before) and not record.is_stored
        self.partial_updates += op == "u" and after is None
        if after is not None:
            self._add_image(after)
            self.empty_images += not has_values(after)
            self._add_order(tuple(after), moment.timestamp() if moment else 0.0)
        elif op == "d" and before is not None:
            for column, value in before.items():
                self.values_of_deletes.setdefault(column, Values()).add(value)
        if not is_copy:
            self._add_change("r" if record.kind == "row" else op, record, partition)

    def _add_change(self, op: str, record: Record, partition: int | None) -> None:
        """Add a change for the search of the key, unless it was delivered before."""
        if len(self.changes) >= MAX_CHANGES_FOR_KEY or self.deliveries.is_second(op, record, partition):
            return
        if op == "t":
            self.changes.append(RowChange("t", None, None))
            return
        before, after = _images_of(op, record)
        self.changes.append(RowChange(op, before, after, transaction_of(op, record.source or {})))

    def _add_order(self, names: tuple[str, ...], time: float) -> None:
        """Add an order of columns: those of the same time stand in the order in which they were read last."""
        if names in self.orders or len(self.orders) < MAX_ORDERS:
            self.orders[names] = max(time, self.orders.pop(names, 0.0))

    def _add_image(self, image: Mapping[str, Any]) -> None:
        if not self.images:
            self.first_columns = frozenset(image)
        self.images += 1
        for name, value in image.items():
            seen = self.values.get(name)
            if seen is None:
                seen = self.values[name] = Values()
            seen.add(value)
            if isinstance(value, str | list) and is_placeholder(value):
                self.placeholders[name] += 1
            if isinstance(value, str) and (prefix := reference_in(value)):
                self.references.setdefault(prefix, Counter())[name] += 1

    def _add_source(self, source: Mapping[str, Any]) -> datetime | None:
        """Add what an event says of where it is from; the time of the change, where it says that."""
        if source.get("connector"):
            self.connectors[str(source["connector"])] += 1
        if source.get("version"):
            self.versions.add(str(source["version"]))
        if source.get("name"):
            self.servers.add(str(source["name"]))
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


def _images_of(op: str, record: Record) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The images before and after: a flattened delete has the one before in the place of the other."""
    return (record.after, None) if op == "d" and record.kind == "flattened" else (record.before, record.after)


def read_objects(storage: Storage, found: Found, sampling: Sampling, done: Callable[[int], None]) -> Reading:
    """Read a sample of an entity's objects.

    Args:
        storage: of the location.
        found: the entity's objects.
        sampling: how many of them, and how much of each.
        done: called with the number of objects that have been read since.
    """
    reading = Reading()
    if found.table:
        reading.errors.append((found.folder or ".", 0, f"{LAKE_TABLE}{found.table}"))
        done(min(len(found.objects), sampling.objects))
        return reading
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
    storage: Storage, stored: StoredObject, name: ObjectName, limit: int, text_limit: int, reading: Reading
) -> int:
    """Add what an object has to the reading; the number of bytes of text that were read."""
    is_cut = stored.length > limit
    # The end of a Parquet file says where everything is: its beginning shows nothing.
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
