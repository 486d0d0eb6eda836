"""Tables of lake formats among landed files: their own log says which of their files count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from alluvium.runtime.objects import Storage

LAKE_TABLE = "lake_table: "
"""What is wrong with such files, before the format's name."""


@dataclass(frozen=True)
class LakeFormat:
    """A format of tables.

    Attributes:
        name: of the format.
        log: regular expression of the path of a file of its log, below the table's folder.
        log_folder: the first folder of the log, as users know it.
        changes: what has the table's changes as rows, or None.
    """

    name: str
    log: str
    log_folder: str
    changes: str | None = None


FORMATS = (
    LakeFormat(
        "Delta", r"_delta_log/\d+\.(?:json|checkpoint\b.*)", "_delta_log", "its change data feed (`table_changes`)"
    ),
    LakeFormat("Hudi", r"\.hoodie/.+", ".hoodie", "its incremental query"),
    LakeFormat(
        "Iceberg", r"metadata/[^/]+\.metadata\.json(?:\.gz)?", "metadata", "its changelog (`create_changelog_view`)"
    ),
    LakeFormat("Paimon", r"(?:snapshot/snapshot-\d+|schema/schema-\d+)", "snapshot", "its `audit_log` table"),
    LakeFormat("Lance", r"_versions/\d+\.manifest", "_versions"),
)


def tables_in(paths: Iterable[str]) -> dict[str, str]:
    """The folders that are tables, with the names of their formats.

    Args:
        paths: of all objects, those of the logs among them.
    """
    found = {}
    for path in paths:
        for entry in FORMATS:
            match = re.fullmatch(rf"(?:(.*?)/)?{entry.log}", path)
            if match:
                found[match[1] or ""] = entry.name
    return found


def table_above(storage: Storage) -> str | None:
    """The format of the table that the location is a folder or a file of, or None."""
    for entry in FORMATS:
        if any(re.fullmatch(entry.log, path) for path in storage.above(entry.log_folder)):
            return entry.name
    return None


def table_of(path: str, tables: Mapping[str, str]) -> str | None:
    """The folder of the table that an object is a part of."""
    folders = (str(folder).removeprefix(".") for folder in PurePosixPath(path).parents)
    return next((folder for folder in folders if folder in tables), None)


def advice_on_table(error: str) -> str | None:
    """What to do about such a table, by what is said of it; None of anything else."""
    found = next((entry for entry in FORMATS if error == f"{LAKE_TABLE}{entry.name}"), None)
    if found is None:
        return None
    changes = f", or land {found.changes} as rows" if found.changes else ""
    return (
        f"It is a table of its own: its log ({found.log_folder}) says which of its files count; some may be removed. "
        f"Read it with `source()` as the {found.name} table that it is, without `external`{changes}."
    )
