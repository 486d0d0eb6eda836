"""What a diagnosis finds, and the page that explains it."""

from __future__ import annotations

from dataclasses import dataclass

CODES = {
    "deletes-not-sent": "Deletes are not in the files",
    "truncates-not-sent": "Truncates are not in the files",
    "changes-not-sent": "Inserts or updates are not in the files",
    "values-not-sent": "Updates leave out long values",
    "values-replaced": "Something else stands in the place of values",
    "known-losses": "The connector's version is known to lose data",
    "order-by-clock": "Only a clock orders the changes",
    "positions-missing": "Changes have no position",
    "positions-shared": "Several changes have one position",
    "nulls-as-defaults": "NULL arrives as the column's default",
    "tombstones-stop-sink": "A tombstone stops the sink",
    "decimals-as-double": "Decimals pass through a double",
    "times-in-milliseconds": "Times lose their microseconds",
    "query-without-delay": "Rows that commit late are lost",
    "folders-by-mutable-column": "A row moves from folder to folder",
    "schemas-not-checked": "Every change of a schema makes a new file",
    "rotation-by-wall-clock": "Files are not the same when they are written again",
    "offsets-missing": "Offsets that no file has",
    "lines-broken": "Lines or files that cannot be read",
    "lake-table": "A table of a lake format lies among the change files",
    "messages-of-other-tools": "Messages of another tool",
    "key-unknown": "The table's key is not visible",
    "records-mixed": "Records of several shapes lie in one topic",
    "names-alike": "Names of columns differ in case alone",
    "names-taken": "Names of columns cannot be used",
    "files-hidden": "Change files that Spark does not list",
    "other-files": "Other files lie among the change files",
    "objects-unread": "Some of the files were not read",
    "configuration-unread": "Parts of a configuration are not looked at",
}
"""Each code with the heading of its page, docs/doctor/<code>.md."""


@dataclass(frozen=True)
class Finding:
    """One thing that will go wrong, or has.

    Attributes:
        code: of ``CODES``.
        where: entity, connector or file that it is about.
        evidence: what shows it.
        remedy: what to do.
        is_error: whether data is lost or may be wrong; else it is costly, or could not be checked.
    """

    code: str
    where: str
    evidence: str
    remedy: str
    is_error: bool = True

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is no code of a finding: {', '.join(CODES)}")
