"""What an object's path says: topic, Kafka partition and offset, layout, format, and the folder of its entity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

# topic+partition+offset.ext (Confluent, Aiven), topic(partition_offset).ext (Lenses with PARTITIONBY).
_CONFLUENT = re.compile(r"^(?P<topic>.+)\+(?P<partition>\d+)\+(?P<offset>\d+)(?P<extensions>(\.\w+)*)$")
_LENSES = re.compile(r"^(?P<topic>.+)\((?P<partition>\d+)_(?P<offset>\d+)\)(?P<extensions>(\.\w+)*)$")
# topic/partition/offset.ext, or offset_time_time.ext (Lenses without PARTITIONBY). One that it does not pad may be any
# number: then two times tell it.
_LENSES_FOLDER = re.compile(
    r"^(?P<partition>\d+)/(?P<offset>\d{10,}|\d+(?=_\d{13}_\d{13}\.))(_\d+_\d+)?(?P<extensions>(\.\w+)+)$"
)

# What the Confluent sink writes beside each file of values: store.kafka.keys, store.kafka.headers.
_BESIDE_VALUES = {"keys", "headers"}

# What `path.format` makes of a time: 2026, 11, 2026-11, 20261122, 2026.11.22, 2026-11-22T05, 2026-W47, dt-2026.
_DATE = re.compile(
    r"((year|month|day|hour|minute|date|time|dt|ds|ymd)[-_.])?"
    r"(\d{1,2}|(19|20)\d\d([-_.]?\d\d){0,2}([-_.T]?\d\d([-_.:]?\d\d){0,2})?|(19|20)\d\d-?W\d\d|\d\d[-_.]\d\d[-_.](19|20)\d\d)",
    re.IGNORECASE,
)
# Hive-style partitions that are not parts of one table.
_NAMES_OF_TABLES = {"table", "table_name", "tablename", "topic", "entity", "collection"}

_FORMATS = {"json": "json", "jsonl": "json", "ndjson": "json", "avro": "avro", "parquet": "parquet"}
_COMPRESSIONS = {"gz": "gzip", "snappy": "snappy", "zstd": "zstd", "bz2": "bzip2", "lz4": "lz4"}


@dataclass(frozen=True)
class ObjectName:
    """What a path says.

    Attributes:
        folder: of the entity: the object's, without the parts at its end that a partitioner has made.
        topic: of Kafka; None where the object's own name does not carry it.
        layout: ``confluent`` (the offset is the file's first), ``lenses`` (its last), or None.
        partition: of Kafka, or None.
        offset: of Kafka, or None.
        format: ``json``, ``avro`` or ``parquet`` by the extension; None where it says none of them.
        compression: by the extension, or None.
        partitioned_by: names of the Hive-style parts below the folder (``country`` of ``country=Peru``).
    """

    folder: str
    topic: str | None
    layout: str | None
    partition: int | None
    offset: int | None
    format: str | None
    compression: str | None
    partitioned_by: tuple[str, ...]


def parse_name(path: str) -> ObjectName:
    """Take a path apart.

    Args:
        path: below the location, with ``/`` between its parts.
    """
    parts = PurePosixPath(path)
    folders = list(parts.parts[:-1])
    found = {"confluent": _CONFLUENT.match(parts.name), "lenses": _LENSES.match(parts.name)}
    layout, match = next(((name, match) for name, match in found.items() if match), (None, None))
    if match is None and folders:
        match = _LENSES_FOLDER.match(f"{folders[-1]}/{parts.name}")
        layout = "lenses" if match else None
    names_topic = match is not None and "topic" in match.groupdict()
    if match and not names_topic:
        folders.pop()
    extensions = (match["extensions"] if match else "".join(parts.suffixes)).lower().strip(".").split(".")
    if is_beside_values(path):
        match, layout, extensions = None, None, []
    partitioned_by: list[str] = []
    while folders and _is_made_by_partitioner(folders[-1]):
        name, equals, _ = folders.pop().partition("=")
        if equals and name != "partition":
            partitioned_by.insert(0, unquote(name))
    return ObjectName(
        folder="/".join(folders),
        topic=match["topic"] if match and names_topic else None,
        layout=layout,
        partition=int(match["partition"]) if match else None,
        offset=int(match["offset"]) if match else None,
        format=next((_FORMATS[extension] for extension in extensions if extension in _FORMATS), None),
        compression=next((_COMPRESSIONS[extension] for extension in extensions if extension in _COMPRESSIONS), None),
        partitioned_by=tuple(partitioned_by),
    )


def is_beside_values(path: str) -> bool:
    """Whether an object has the keys or the headers of the messages whose values are in another one."""
    match = _CONFLUENT.match(PurePosixPath(path).name)
    return match is not None and not _BESIDE_VALUES.isdisjoint(match["extensions"].lower().split("."))


def name_of_folder(path: str) -> str | None:
    """The last part of a path that no partitioner has made, as the name of a table.

    Args:
        path: with ``/`` between its parts; of ``table=orders`` the value is the name.

    Returns:
        None where there is no such part.
    """
    for part in reversed(PurePosixPath(path).parts):
        if not _is_made_by_partitioner(part) and part.strip("/"):
            return unquote(part.rpartition("=")[2]) or part
    return None


def name_filter(topic: str, layout: str | None) -> str:
    """Spark's ``pathGlobFilter`` for the objects of a topic.

    Args:
        topic: that the names begin with.
        layout: ``confluent`` or ``lenses``.
    """
    return f"{escaped_glob(topic)}{'(' if layout == 'lenses' else '+'}*"


def escaped_glob(name: str) -> str:
    """A name as the pattern that it alone fits."""
    return "".join(f"\\{letter}" if letter in "\\*?[]{}" else letter for letter in name)


def _is_made_by_partitioner(folder: str) -> bool:
    """A Hive-style partition (``country=Peru``, ``year=2026``), or a date or a part of one (``2026``, ``2026-11-22``).

    A number that is no year, and a folder ``table=orders``, is what the table is known by.
    """
    name, equals, _ = folder.partition("=")
    if equals:
        return name.lower().strip("_") not in _NAMES_OF_TABLES
    return _DATE.fullmatch(folder) is not None
