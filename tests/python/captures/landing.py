"""Lands the files of a corpus as a sink would have: everything up to a checkpoint, then the rest."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .corpora import Checkpoint, Corpus, Layout, Table

CONFLUENT_NAME = re.compile(r"(?P<topic>.+)\+(?P<partition>\d+)\+(?P<offset>\d+)\.[^/]+")
LENSES_NAME = re.compile(r"(?P<topic>.+)\((?P<partition>\d+)_(?P<offset>\d+)\)\.[^/]+")


@dataclass(frozen=True)
class LandedFile:
    """One object that a sink wrote.

    Attributes:
        path: of the recorded file.
        topic: Kafka topic.
        partition: Kafka partition.
        offset: the number in the name: first offset (Confluent) or last offset (Lenses).
    """

    path: Path
    topic: str
    partition: int
    offset: int

    def lies_before(self, checkpoint: Checkpoint) -> bool:
        """True if the file belongs to 'everything up to the checkpoint'; no file spans one."""
        return self.offset < checkpoint.end_offsets.get(f"{self.topic}:{self.partition}", 0)


@cache
def landed_files(corpus: Corpus, layout: Layout) -> tuple[LandedFile, ...]:
    """All objects of one layout, by path. Raises ValueError for a name that the sink would not write."""
    name = {"confluent": CONFLUENT_NAME, "lenses": LENSES_NAME}[layout.sink]
    files = []
    for path in sorted(folder(corpus, layout).rglob("*")):
        if path.is_file():
            match = name.fullmatch(path.name)
            if match is None:
                raise ValueError(f"{path}: not a name of the {layout.sink} sink")
            files.append(LandedFile(path, match["topic"], int(match["partition"]), int(match["offset"])))
    return tuple(files)


@cache
def tables_of(corpus: Corpus, layout: Layout) -> tuple[Table, ...]:
    """The tables of which a layout has files; a small part of a corpus need not have all."""
    topics = {file.topic for file in landed_files(corpus, layout)}
    return tuple(table for table in corpus.tables if table.topic in topics)


def folder(corpus: Corpus, layout: Layout) -> Path:
    """Where the recorded objects of one layout are."""
    return corpus.path / "bronze" / layout.name


def location(corpus: Corpus, layout: Layout, topic: str) -> tuple[str, str | None]:
    """Folder of a topic relative to the layout's own, and the glob that tells its files from other topics' there.

    Confluent gives each topic a folder; Lenses puts all topics into one.
    """
    found = [file for file in landed_files(corpus, layout) if file.topic == topic]
    if layout.sink == "confluent":
        return f"topics/{topic}", None
    prefix = found[0].path.parent.relative_to(folder(corpus, layout)) if found else Path()
    return str(prefix), f"{topic}(*"


def land(corpus: Corpus, layout: Layout, checkpoint: Checkpoint | None, target: Path) -> int:
    """Adds to a folder the objects up to a checkpoint (None: only the empty folders of the topics).

    An object that is there already is left alone.

    Returns:
        number of objects added.
    """
    for table in tables_of(corpus, layout):
        (target / location(corpus, layout, table.topic)[0]).mkdir(parents=True, exist_ok=True)
    added = 0
    for file in landed_files(corpus, layout) if checkpoint else ():
        destination = target / file.path.relative_to(folder(corpus, layout))
        if checkpoint is not None and file.lies_before(checkpoint) and not destination.exists():
            destination.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(file.path, destination)
            added += 1
    return added


def _link_or_copy(source: Path, destination: Path) -> None:
    try:
        os.link(source, destination)
    except OSError:
        # Another file system, or links to a foreign user's files are forbidden (fs.protected_hardlinks).
        shutil.copy2(source, destination)
