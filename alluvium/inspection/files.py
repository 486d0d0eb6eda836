"""The files of an entity: where they are, what is in them, and how much of them was read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .names import ObjectName
    from .records import Content


@dataclass(frozen=True)
class Files:
    """The files of an entity.

    Attributes:
        location: their folder below the inspected location; empty for the location itself.
        topic: of Kafka; None where no name has one.
        name_filter: Spark's ``pathGlobFilter``; None where no other file is in the folder, or there is no topic.
        layout: of the table of sink names; None where names have no offsets.
        format: ``json``, ``avro`` or ``parquet``: that of most files.
        compressions: of the files; empty for none.
        partitioned_by: names of Hive-style folders below the location.
        folder_columns: those of them that are columns, where no line has its offset.
        objects: number of files.
        length: bytes of all of them.
        objects_read: number of files that were read, some of them in part.
        objects_cut: number of those that were read in part, as they are larger than the bound.
    """

    location: str
    topic: str | None
    name_filter: str | None
    layout: str | None
    format: str
    compressions: tuple[str, ...]
    partitioned_by: tuple[str, ...]
    folder_columns: tuple[str, ...]
    objects: int
    length: int
    objects_read: int
    objects_cut: int

    @property
    def are_all_read(self) -> bool:
        """Whether each file was read to its end: only then do offsets that no line has not exist."""
        return self.objects_read == self.objects and not self.objects_cut


@dataclass
class FilesRead:
    """What the files that were read show, fed file by file.

    Attributes:
        columns: by path, those of its rows.
        offset_ranges: by Kafka partition, the first and the last offset of each file.
    """

    objects: int = 0
    objects_cut: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    compressions: set[str] = field(default_factory=set)
    columns: dict[str, set[str]] = field(default_factory=dict)
    offset_ranges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, content: Content) -> None:
        """Add a file."""
        self.objects += 1
        self.objects_cut += content.is_cut
        self.formats[content.format] += 1
        self.compressions |= {content.compression} if content.compression else set()

    def add_offsets(self, name: ObjectName, offsets: list[int]) -> None:
        """Add the offsets that the lines of a file show; its name may have the last one."""
        if name.partition is not None and offsets:
            last = name.offset if name.offset is not None and name.has_last_offset else max(offsets)
            self.offset_ranges.setdefault(name.partition, []).append((min(offsets), last))
