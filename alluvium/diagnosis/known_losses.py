"""What versions of Debezium's connectors are known to lose, by its public issues."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alluvium.inspection import Inspection

_Version = tuple[int, ...]
_STAGES = ("alpha", "beta", "cr", "final")
_RELATIONAL = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle")


@dataclass(frozen=True)
class KnownLoss:
    """A public issue of Debezium.

    Attributes:
        issue: its identifier.
        connectors: as ``source.connector`` names them.
        what: is lost, and when.
        fixed_in: the first fixed version of each line of releases that has the fix, from Debezium's tags; none where no
            release was known to have it in September 2026.
        since: the first version that has the fault, or None.
    """

    issue: str
    connectors: tuple[str, ...]
    what: str
    fixed_in: tuple[str, ...] = ()
    since: str | None = None

    def affects(self, version: str) -> bool:
        """Whether a version has the fault; one that cannot be read has not."""
        number = _number(version)
        if number is None or (self.since and number < _number_of(self.since)):
            return False
        fixes = [_number_of(fixed) for fixed in self.fixed_in]
        return not any(number >= fix and number[:2] == fix[:2] for fix in fixes) and (not fixes or number < max(fixes))


KNOWN_LOSSES = (
    KnownLoss("debezium/dbz#76", ("postgresql",),
        "after a restart, changes of transactions that were in progress may be missing", ("3.7.0.Alpha2",)),
    KnownLoss("debezium/dbz#1554", ("postgresql",),
        "after a restart, changes of COPY and of inserts of several rows that share an LSN may be missing",
        ("3.7.0.Alpha1",)),
    KnownLoss("DBZ-7816", ("postgresql",), "after a restart, changes may be missing", ("2.6.2", "2.7.0")),
    KnownLoss("DBZ-6204", ("postgresql",), "after a restart, the first change of a transaction may be missing",
        ("2.1.4", "2.2.0")),
    KnownLoss("DBZ-5739", ("postgresql",),
        "if the replication slot was recreated, the changes before that are missing", ("2.1.0",)),
    KnownLoss("debezium/dbz#1529", ("postgresql",),
        "a column of an enum type whose name several schemas have is sent as NULL", ("3.6.0",)),
    KnownLoss("debezium/dbz#1833", ("postgresql",),
        "`time.precision.mode=nanoseconds`: a `timestamp` of infinity is sent as a time before 1970",
        ("3.6.0.Alpha2",)),
    KnownLoss("DBZ-7599", ("postgresql",),
        "`binary.handling.mode=hex`: an out-of-line `bytea` that an update did not change is sent as NULL",
        ("2.5.3", "2.6.0")),
    KnownLoss("DBZ-7193", ("postgresql",),
        "out-of-line arrays are sent as the placeholder even with REPLICA IDENTITY FULL", ("2.4.2", "2.5.0")),
    KnownLoss("debezium/dbz#1164", ("sqlserver",),
        "a value of varchar(max), nvarchar(max) or varbinary(max) that an update did not change is sent as NULL",
        ("3.6.0",)),
    KnownLoss("debezium/dbz#2662", ("sqlserver",),
        "a value of nvarchar(max) that an update did not change may be sent as NULL, not as the placeholder",
        since="3.6.0"),
    KnownLoss("DBZ-7359", ("sqlserver",),
        "an incremental snapshot leaves out rows if the key's collation sorts otherwise than Debezium does",
        ("2.5.4", "2.6.0")),
    KnownLoss("DBZ-9521", ("oracle",), "`lob.enabled=true`: changes of a transaction may be left out",
        ("3.2.4", "3.3.1", "3.4.0"), since="3.2.3"),
    KnownLoss("DBZ-7018", ("oracle",), "changes whose SQL is longer than 40 kB are cut off",
        ("2.3.5", "2.4.1", "2.5.0")),
    KnownLoss("DBZ-6963", ("oracle",), "changes of one row in one transaction may be merged and lost",
        ("2.3.6", "2.4.1", "2.5.0")),
    KnownLoss("debezium/dbz#1798", ("oracle",),
        "non-ASCII characters of a database that is not in UTF-8 are corrupted", ("3.6.0",)),
    KnownLoss("debezium/dbz#1679", ("oracle",), "OpenLogReplicator: whole numbers of BINARY_FLOAT are sent as NULL",
        ("3.5.0",)),
    KnownLoss("DBZ-5085", ("oracle",), "changes between the snapshot and the stream may be missing",
        ("1.9.3", "2.0.0")),
    KnownLoss("DBZ-7594", ("mysql",), "negative values of TIME(n) are sent as other times", ("2.5.3", "2.6.0")),
    KnownLoss("debezium/dbz#473", ("mariadb",),
        "`binlog_row_image=NOBLOB`: a BLOB or TEXT value that an update did not change is sent as NULL",
        since="3.7.0"),
    KnownLoss("debezium/dbz#1531", ("mongodb",), "rows of a parallel snapshot may name the wrong collection",
        ("3.4.1", "3.5.0")),
    KnownLoss("DBZ-9337", _RELATIONAL,
        "after a failed ad hoc blocking snapshot and a restart, changes may be missing", ("3.2.2", "3.3.0")),
    KnownLoss("debezium/dbz#2075", _RELATIONAL,
        "`time.precision.mode=nanoseconds`: times before 1677-09-21 and after 2262-04-11 are sent as other times",
        ("3.6.0",), since="3.0.0"),
)  # fmt: skip
"""Checked in Debezium's change log, history and tags (3.7.0.Alpha2); of each the cause, where its commits say it."""


def findings_of_versions(inspection: Inspection) -> Iterator[Finding]:
    """What the connectors of the inspected events do not send, by their kind and version; once for a whole location."""
    versions: dict[str, set[str]] = {}
    for entity in inspection.entities:
        if entity.source.connector:
            versions.setdefault(entity.source.connector, set()).update(entity.source.versions)
    for connector, seen in sorted(versions.items()):
        for loss in KNOWN_LOSSES:
            affected = [version for version in sorted(seen) if connector in loss.connectors and loss.affects(version)]
            if affected:
                yield Finding(
                    "known-losses",
                    f"{connector} {', '.join(affected)}",
                    f"{loss.what} ({loss.issue})",
                    _remedy(loss),
                    is_error=False,
                )
        if connector in ("mysql", "mariadb"):
            yield Finding(
                "changes-not-sent",
                connector,
                "InnoDB does not write changes by foreign keys (ON DELETE CASCADE, SET NULL, ON UPDATE "
                "CASCADE) to the binlog",
                "If tables have such keys, compare the child tables with the source (`reconcile`), or delete and "
                "update child rows yourself.",
                is_error=False,
            )


def _remedy(loss: KnownLoss) -> str:
    releases = " or ".join(re.sub(r"[.](Alpha|Beta|CR)\d+$", "", fixed) for fixed in loss.fixed_in)
    upgrade = f"Use Debezium {releases}, or later. " if releases else "No known release has a fix. "
    return f"{upgrade}Compare tables that may be affected with the source (`reconcile`)."


def _number(version: str) -> _Version | None:
    """A version as numbers that compare (``3.7.0.Alpha2``); None where it is none, such as ``unknown``."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[.-]([A-Za-z]+)(\d*))?", version)
    if not found:
        return None
    stage = (found[4] or "final").lower()
    place = _STAGES.index(stage) if stage in _STAGES else len(_STAGES) - 1
    return int(found[1]), int(found[2]), int(found[3] or 0), place, int(found[5] or 0)


def _number_of(version: str) -> _Version:
    number = _number(version)
    assert number, version
    return number
