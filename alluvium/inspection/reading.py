"""Which objects below a location are whose, and what the records of some of them show."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from alluvium.runtime.objects import UnreadableObjectError, is_hidden
from alluvium.spark_udfs.record import describe

from .columns import ColumnsRead
from .current_rows import has_values
from .files import FilesRead
from .key_evidence import KeyEvidence
from .lake_tables import LAKE_TABLE, table_above, table_of, tables_in
from .mixtures import without_numbers
from .names import ObjectName, has_other_extension, is_beside_values, parse_name
from .order import Placement
from .records import read_content
from .shapes import Records, UnreadableRecordError, recognise
from .snapshots import Snapshot, add_snapshot
from .sources import Source
from .table_changes import DeclaredTable, TableName, declared_tables
from .unavailable import UnavailableValues

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from alluvium.runtime.objects import Storage, StoredObject

    from .records import Content
    from .shapes import Record

OBJECTS_LOOKED_INTO, BYTES_LOOKED_INTO = 3, 1024 * 1024
"""Of files of one folder and extension that no sink's or format's name has: how many, and how much of each."""


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
        is_shared: whether other files are in the same folder.
    """

    folder: str
    topic: str | None
    layout: str | None
    location: str = ""
    alike: list[str] = field(default_factory=list)
    objects: list[tuple[StoredObject, ObjectName]] = field(default_factory=list)
    table: str | None = None
    is_shared: bool = False


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
    folders, folders_of_others = Counter(folder for folder, _ in found), {path.rpartition("/")[0] for path in others}
    for entity in found.values():
        entity.is_shared = folders[entity.folder] > 1 or entity.folder in folders_of_others
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
    """What has been read of an entity, record by record.

    Attributes:
        files: that were read.
        records: of all kinds.
        source: of changes.
        ops: number of changes by ``op``.
        without_image: number of deletes and updates that lack the image that says what has become of which row.
        columns: of rows.
        unavailable: values of rows.
        evidence: of the key, by the changes.
        placement: whether changes have positions.
        snapshots: by what all rows of a snapshot have in common.
        declared: tables that schema changes tell of.
    """

    files: FilesRead = field(default_factory=FilesRead)
    records: Records = field(default_factory=Records)
    source: Source = field(default_factory=Source)
    ops: Counter[str] = field(default_factory=Counter)
    without_image: Counter[str] = field(default_factory=Counter)
    columns: ColumnsRead = field(default_factory=ColumnsRead)
    unavailable: UnavailableValues = field(default_factory=UnavailableValues)
    evidence: KeyEvidence = field(default_factory=KeyEvidence)
    placement: Placement = field(default_factory=Placement)
    snapshots: dict[Hashable, Snapshot] = field(default_factory=dict)
    declared: dict[TableName, DeclaredTable] = field(default_factory=dict)

    def add_content(self, content: Content, name: ObjectName, path: str) -> None:
        """Add the records of one object; what cannot be read of it is added to the errors."""
        self.files.add(content)
        self.records.errors += [(path, line, error) for line, error in content.errors]
        self.columns.says_meaning = self.columns.says_meaning and content.says_meaning
        offsets: list[int] = []
        for line, value in content.lines:
            try:
                record = recognise(value, content.schema)
                offset = record.offset
                if offset is None and name.offset is not None and not name.has_last_offset:
                    offset = name.offset + line - 1
                self.add_record(record, name.partition, is_copy=self.evidence.is_copy(name.partition, offset))
            except UnreadableRecordError as error:
                self.records.errors.append((path, line, str(error)))
                continue
            except Exception as error:
                # One line that nobody has thought of is no reason to say nothing of all others.
                self.records.errors.append((path, line, f"no change that can be read: {describe(error)}"))
                continue
            self.records.lines += 1
            self.files.columns.setdefault(path, set()).update(record.after or ())
            self.evidence.add_folder(path.rpartition("/")[0])
            if offset is not None:
                offsets.append(offset)
        self.files.add_offsets(name, offsets)

    def add_record(self, record: Record, partition: int | None, *, is_copy: bool) -> None:
        """Add one record.

        Args:
            record: as recognised.
            partition: of Kafka, or None.
            is_copy: whether a record of the same place in Kafka was there before; the search of a key skips it.
        """
        self.records.stored += record.is_stored
        if record.kind in ("envelope", "flattened", "truncate"):
            self.placement.add(record)
        if record.kind in ("envelope", "flattened", "row"):
            self._add_change(record, partition, is_copy=is_copy)
            return
        self.records.controls[record.kind] += 1
        if record.kind == "schema_change":
            for name, table in declared_tables(record.value).items():
                self.declared[name] = table.following(self.declared.get(name))
        if record.kind == "truncate" and not is_copy:
            self.evidence.add("t", record, partition)

    def _add_change(self, record: Record, partition: int | None, *, is_copy: bool) -> None:
        self.records.kinds[record.kind] += 1
        source = record.source or {}
        moment = self.source.add(source, is_flattened=record.kind == "flattened")
        time = moment.timestamp() if moment else 0.0
        op = record.op or ("d" if record.after is None else "c")
        if moment:
            add_snapshot(self.snapshots, op, source, moment)
        if record.kind != "row":
            self.ops[op] += 1
        if record.key is not None:
            self.evidence.message_keys.append(record.key)
        if record.schema:
            self.columns.add_schema(record.schema, time)
        before, after = record.images(op)
        # A document is named by the message's key, too, where the sink has stored that.
        if (op == "d" and not has_values(before) and not record.is_stored) or (op == "u" and after is None):
            self.without_image[op] += 1
        if after is not None:
            self.columns.add_row(after, time)
            self.unavailable.add(after)
        elif op == "d" and before is not None:
            self.columns.add_deleted(before)
        if not is_copy:
            self.evidence.add("r" if record.kind == "row" else op, record, partition)


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
        reading.records.errors.append((found.folder or ".", 0, f"{LAKE_TABLE}{found.table}"))
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
        reading.records.errors.append((stored.path, 0, str(error)))
        return 0
    try:
        content = read_content(raw, stored.path, is_cut=is_cut, text_bytes=text_limit)
    except Exception as error:
        # Such as a schema in a file's footer that is none: it is no reason to say nothing of all other files.
        reading.records.errors.append((stored.path, 0, f"corrupt: {describe(error)}"))
        return 0
    reading.add_content(content, name, stored.path)
    return content.text_bytes
