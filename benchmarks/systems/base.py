"""The interface of a system under test."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.generator import FORMATS, Shape
from benchmarks.oracle import Digest

# Where a system keeps its tables, below its home: what is written there is measured.
WAREHOUSE = "warehouse"


@dataclass(frozen=True)
class Place:
    """What a system reads, and where it writes.

    Attributes:
        home: folder for everything that it writes; its tables are below `WAREHOUSE`.
        location: folder that the change files land in.
        shape: of the data.
        entity: name of the table.
    """

    home: Path
    location: Path
    shape: Shape
    entity: str


class System(ABC):
    """A way to keep the current rows of one table.

    Attributes:
        title: as the report names it.
        environment: variables of the process.
        session: the running Spark session, None where there is none.
    """

    title: ClassVar[str]
    environment: ClassVar[Mapping[str, str]] = {}

    def __init__(self, place: Place, session: Any = None) -> None:
        self.place = place
        self.session = session

    @classmethod
    def start(cls, home: Path) -> Any:
        """Starts the session, before anything is measured; `home` is that of all tables."""
        return None

    def prepare(self) -> None:
        """What is done once, before the first batch lands."""
        return

    @abstractmethod
    def apply(self) -> dict[str, Any]:
        """Brings the table up to date with the landed files; returns figures of its own, such as seconds by model."""

    def maintain(self) -> None:
        """Compaction, where `apply` does not do it; its seconds are the writer's."""
        return

    @abstractmethod
    def read(self) -> None:
        """Reads all current rows for a small result: count and sum of the balance by status."""

    @abstractmethod
    def digest(self) -> Digest:
        """Of the current rows."""

    @abstractmethod
    def row_hashes(self) -> Iterator[tuple[int | None, int]]:
        """Key and hash of each current row."""


class AppliedFiles:
    """The files that are done, in a JSON file beside the table, as in most scripts.

    Args:
        place: of the system.
    """

    def __init__(self, place: Place) -> None:
        self._file = place.home / f"{place.entity}_done.json"
        self._location = place.location
        self._suffix = FORMATS[place.shape.format].suffix

    def done(self) -> set[str]:
        """Paths that are done."""
        return set(json.loads(self._file.read_text(encoding="utf-8"))) if self._file.exists() else set()

    def new(self) -> list[str]:
        """Landed paths that are not done."""
        return sorted({str(path) for path in self._location.rglob(f"*.{self._suffix}")} - self.done())

    def add(self, files: list[str]) -> None:
        """Enters files."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(sorted(self.done() | set(files))), encoding="utf-8")


def read_sql(relation: str) -> str:
    """The query of `System.read`."""
    return f"select status, count(*), sum(balance) from {relation} group by status"
