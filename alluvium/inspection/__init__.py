"""What lies in a folder of change files: topics, shapes, keys, columns and what is wrong, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from alluvium import AlluviumError
from alluvium.runtime.objects import LocationError, open_storage

from .entities import Entity, describe_entity
from .messages import advice_on
from .missed_snapshots import missed_snapshots
from .reading import Sampling, list_entities, read_objects

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Entity", "Inspection", "LocationError", "Sampling", "inspect"]


@dataclass(frozen=True)
class Inspection:
    """What was found below a location.

    Attributes:
        location: as Spark names it.
        sampling: how much was read.
        entities: by folder and topic.
        others: paths of files that are no change files.
        hidden: paths of change files that Spark does not list, as a part of them begins with ``_`` or ``.``.
        file: name of the one file that was looked at; None of a folder.
    """

    location: str
    sampling: Sampling
    entities: tuple[Entity, ...]
    others: tuple[str, ...]
    file: str | None = None
    hidden: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The location, or the one file there that was looked at."""
        return f"{self.location.rstrip('/')}/{self.file}" if self.file else self.location

    def require_changes(self) -> None:
        """Raise where there is nothing to work with.

        Raises:
            AlluviumError: no entity has rows.
        """
        if any(entity.shape for entity in self.entities):
            return
        errors = [error for entity in self.entities for error in entity.records.errors]
        if errors:
            path, line, error = errors[0]
            remedy = advice_on(error) or "Upload them again, complete."
            raise AlluviumError(
                f"{self.name} has change files, none of which can be read; the first: {path}, line {line}: {error}. "
                f"{remedy}"
            )
        if self.hidden:
            raise AlluviumError(
                f"{self.name} has change files in names that begin with _ or . ({self.hidden[0]}): Spark does not list "
                "them. Rename them, or set the sink's path to another name."
            )
        csv = next((path for path in self.others if ".csv" in PurePosixPath(path.lower()).suffixes), None)
        if csv:
            raise AlluviumError(
                f"{self.name} has no change files that are read: CSV ({csv}) is not, JSON lines, Avro and Parquet are; "
                "have them written in one of these (AWS DMS: DataFormat=parquet among the settings of its S3 endpoint)."
            )
        raise AlluviumError(f"{self.name} has no change files; give the folder that the sink connector writes to.")


def inspect(
    location: str,
    sampling: Sampling | None = None,
    begin: Callable[[int], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
) -> Inspection:
    """Look at what lies at a location.

    Args:
        location: a local folder or file, or ``s3://bucket/prefix``.
        sampling: how much is read.
        begin: called once, with the number of objects that will be read.
        advance: called with the number of objects that have been read since.

    Raises:
        LocationError: nothing is there, or it cannot be listed.
    """
    sampling = sampling or Sampling()
    storage = open_storage(location)
    found, others, hidden = list_entities(storage)
    begin(sum(min(len(entity.objects), sampling.objects) for entity in found))
    readings = [read_objects(storage, entity, sampling, advance) for entity in found]
    declared = {name: table for reading in readings for name, table in reading.declared.items()}
    entities = tuple(
        describe_entity(one, reading, declared, missed)
        for one, reading, missed in zip(found, readings, missed_snapshots(readings), strict=True)
    )
    return Inspection(storage.location, sampling, entities, tuple(others), storage.file, tuple(hidden))
