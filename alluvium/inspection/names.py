"""What an object's path says: topic, Kafka partition and offset, layout, format, and the folder of its entity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from alluvium import rules

if TYPE_CHECKING:
    from collections.abc import Sequence

# What the Confluent sink writes beside each file of values: store.kafka.keys, store.kafka.headers.
_BESIDE_VALUES = {"keys", "headers"}

# What `path.format` makes of a time: 2026, 11, 2026-11, 20261122, 2026.11.22, 2026-11-22T05, 2026-W47, dt-2026.
_DATE = re.compile(
    r"((year|month|day|hour|minute|date|time|dt|ds|ymd)[-_.])?"
    r"(\d{1,2}|(19|20)\d\d([-_.]?\d\d){0,2}([-_.T]?\d\d([-_.:]?\d\d){0,2})?|(19|20)\d\d-?W\d\d|\d\d[-_.]\d\d[-_.](19|20)\d\d)",
    re.IGNORECASE,
)
# A folder further up that is called as a topic is hardly the topic's.
_MOST_FOLDERS = 4
# Hive-style partitions that are not parts of one table.
_NAMES_OF_TABLES = {"table", "table_name", "tablename", "topic", "entity", "collection"}

_FORMATS = {"json": "json", "jsonl": "json", "ndjson": "json", "avro": "avro", "parquet": "parquet"}
_COMPRESSIONS = {"gz": "gzip", "snappy": "snappy", "zst": "zstd", "zstd": "zstd", "bz2": "bzip2", "lz4": "lz4"}


@dataclass(frozen=True)
class ObjectName:
    """What a path says.

    Attributes:
        folder: of the entity: the object's, without the parts at its end that a partitioner has made.
        topic: of Kafka; None where the object's own name does not carry it.
        layout: of the table of sink names, or None.
        partition: of Kafka, or None.
        offset: of Kafka, of the file's first record or, by has_last_offset, of its last one; or None.
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

    @property
    def has_last_offset(self) -> bool:
        """Whether the offset is that of the file's last record, not of its first one."""
        return self.layout is not None and "last_offset" in _layouts()[self.layout][0].groupindex


def parse_name(path: str) -> ObjectName:
    """Take a path apart.

    Args:
        path: below the location, with ``/`` between its parts.
    """
    full = f"/{path}"
    is_beside = is_beside_values(path)
    layout, match = (None, None) if is_beside else _layout_of(full)
    extensions = [] if is_beside else _extensions(full, match)
    found = match.groupdict() if match else {}
    is_named = match is not None and "topic" in found and match.start("topic") > full.rfind("/")
    end = match.end("topic") if match and "topic" in found and not is_named else full.rfind("/")
    folders = list(PurePosixPath(full[1:end]).parts)
    kept = _folders_of_table(folders, found["topic"] if is_named else None)
    if is_named:
        kept = next((place for place in range(1, kept) if _says_the_year(folders[place])), kept)
    partitioned_by: list[str] = []
    while len(folders) > kept:
        name, equals, _ = folders.pop().partition("=")
        if equals and name != "partition":
            partitioned_by.insert(0, unquote(name))
    numbers = {group: int(number) for group, number in found.items() if group != "topic"}
    return ObjectName(
        folder="/".join(folders),
        topic=found["topic"] if is_named else None,
        layout=layout,
        partition=numbers.get("partition"),
        offset=numbers.get("offset", numbers.get("last_offset")),
        format=next((_FORMATS[extension] for extension in extensions if extension in _FORMATS), None),
        compression=next((_COMPRESSIONS[extension] for extension in extensions if extension in _COMPRESSIONS), None),
        partitioned_by=tuple(partitioned_by),
    )


@cache
def _layouts() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    names = rules.load("sink_names")
    return {
        layout: (re.compile(rule["pattern"]), re.compile(rule.get("seen_by", ""))) for layout, rule in names.items()
    }


def is_doubtful(layout: str | None) -> bool:
    """Whether files of another origin may be called alike, by chance."""
    return layout is not None and bool(rules.load("sink_names")[layout].get("is_doubtful"))


def _layout_of(path: str) -> tuple[str | None, re.Match[str] | None]:
    for layout, (pattern, seen_by) in _layouts().items():
        match = pattern.search(path)
        if match and seen_by.search(path):
            return layout, match
    return None, None


def _extensions(path: str, match: re.Match[str] | None) -> list[str]:
    """Behind what a sink has made of topic, partition and offset: a topic may have dots, too."""
    behind = path[match.end(match.lastindex) :] if match and match.lastindex else PurePosixPath(path).name
    return behind.lower().split(".")[1:]


def is_beside_values(path: str) -> bool:
    """Whether an object has the keys or the headers of the messages whose values are in another one."""
    match = _layouts()["confluent"][0].search(f"/{path}")
    return match is not None and not _BESIDE_VALUES.isdisjoint(_extensions(f"/{path}", match))


def has_other_extension(path: str) -> bool:
    """Whether a name that no sink has made ends in an extension that is no compression's."""
    extensions = _extensions(f"/{path}", None)
    return bool(extensions) and extensions[-1] not in _COMPRESSIONS


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


def without_partitions(location: str, topic: str | None = None) -> str:
    """A folder without the parts at its end that are of one day or batch; as it is where no folder with a name is left.

    Args:
        location: a local folder, or a bucket's address with a scheme.
        topic: that the names of its files say, or None.
    """
    scheme, separator, path = location.rpartition("://")
    folders = path.split("/")
    kept = folders[: _folders_of_table(folders, topic)]
    return f"{scheme}{separator}{'/'.join(kept)}" if len(kept) > 1 and kept[-1] else location


def name_filter(topic: str, layout: str | None) -> str:
    """Spark's ``pathGlobFilter`` for the objects of a topic.

    Args:
        topic: that the names begin with.
        layout: of the table of sink names.
    """
    return escaped_glob(topic) + str(rules.load("sink_names").get(layout, {}).get("glob", "*"))


def escaped_glob(name: str) -> str:
    """A name as the pattern that it alone fits."""
    return "".join(f"\\{letter}" if letter in "\\*?[]{}" else letter for letter in name)


def _folders_of_table(folders: Sequence[str], topic: str | None) -> int:
    """How many folders lead to all files of a table.

    A topic in the files' names tells it below a folder of its name, whatever the few folders in between are
    (``items/batch_17``, ``items/2026/Q1``).
    """
    kept = len(folders)
    while kept and _is_made_by_partitioner(folders[kept - 1]):
        kept -= 1
    if topic is None:
        return kept
    names = {topic.lower(), topic.lower().rpartition(".")[2]}
    places = range(kept, max(kept - _MOST_FOLDERS, 0), -1)
    return next((n for n in places if unquote(folders[n - 1]).rpartition("=")[2].lower() in names), kept)


def _says_the_year(folder: str) -> bool:
    return _is_made_by_partitioner(folder) and ("=" in folder or re.search(r"(19|20)\d\d", folder) is not None)


def _is_made_by_partitioner(folder: str) -> bool:
    """A Hive-style partition (``country=Peru``, ``year=2026``), or a date or a part of one (``2026``, ``2026-11-22``).

    A number that is no year, and a folder ``table=orders``, is what the table is known by.
    """
    name, equals, _ = folder.partition("=")
    if equals:
        return name.lower().strip("_") not in _NAMES_OF_TABLES
    return _DATE.fullmatch(folder) is not None
