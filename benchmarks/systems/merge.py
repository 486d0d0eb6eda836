"""The usual hand-written job on Delta: read the new files, keep the last event of each key, merge it into a table.

Which files are done is in a file beside the table, not in step with it. The classes differ in what they guard.
"""

from __future__ import annotations

from typing import ClassVar

from benchmarks.systems.on_spark import Script
from benchmarks.systems.records import events_sql, latest_sql, read_files

PROPERTIES = "tblproperties ('delta.enableDeletionVectors' = 'true')"


class Merge(Script):
    """MERGE with a delete clause: the event that came last wins, even if it is older.

    Attributes:
        is_guarded: an event older than its row changes nothing.
        has_tombstones: a deleted row stays as a tombstone, so that an older event cannot bring it back.
        keeps_log: all events go into a log first, with file and batch; a line that cannot be decoded keeps its text.
    """

    title = "MERGE"
    is_guarded: ClassVar[bool] = False
    has_tombstones: ClassVar[bool] = False
    keeps_log: ClassVar[bool] = False

    @property
    def current_rows(self) -> str:
        """The rows that are not deleted."""
        return f"(select * from {self.table} where not deleted)" if self.has_tombstones else self.table

    def apply_files(self, files: list[str]) -> None:
        """Merges the latest event of each key; the first time it makes the table."""
        is_first = not self.applied.done()
        extra = ", op = 'd' as deleted" if self.has_tombstones else ""
        if is_first:
            self.session.sql(f"create schema if not exists {self.schema}")
            stored = f"{self.column_types}, lsn bigint" + (", deleted boolean" if extra else "")
            self.session.sql(f"create table {self.table} ({stored}) using delta {PROPERTIES}")
        if self.keeps_log:
            self._append_log(files)
        else:
            self.events(files)
        self.session.sql(latest_sql(self.place.shape, "events", extra)).createOrReplaceTempView("latest")
        self.session.sql(self._insert() if is_first else self._merge())

    def maintain(self) -> None:
        """OPTIMIZE of the table, and of the log."""
        for table in (self.table, f"{self.table}_log") if self.keeps_log else (self.table,):
            self.session.sql(f"optimize {table}")

    @property
    def _stored(self) -> list[str]:
        return [*self.place.shape.types, "lsn", *(["deleted"] if self.has_tombstones else [])]

    def _insert(self) -> str:
        kept = "" if self.has_tombstones else " where op <> 'd'"
        return f"insert into {self.table} select {', '.join(self._stored)} from latest{kept}"

    def _merge(self) -> str:
        guard = " and source.lsn > target.lsn" if self.is_guarded else ""
        no_delete = "" if self.has_tombstones else " and source.op <> 'd'"
        delete = "" if self.has_tombstones else f"when matched and source.op = 'd'{guard} then delete"
        updated = ", ".join(f"{name} = source.{name}" for name in self._stored if name != "id")
        return f"""
            merge into {self.table} as target
            using latest as source
            on target.id = source.id
            {delete}
            when matched{no_delete}{guard} then update set {updated}
            when not matched{no_delete} then insert ({", ".join(self._stored)})
                values ({", ".join(f"source.{name}" for name in self._stored)})
        """

    def _append_log(self, files: list[str]) -> None:
        """Appends the events to the log and leaves the new ones as the view `events`."""
        log, shape, spark = f"{self.table}_log", self.place.shape, self.session
        raw = "value" if "value" in (lines := read_files(spark, shape, files)).columns else "cast(null as string)"
        lines.selectExpr("*", "_metadata.file_path as file").createOrReplaceTempView("records")
        events = events_sql(shape, "records", f", file, {raw} as value")
        spark.sql(
            f"create table if not exists {log} ({self.column_types}, lsn bigint, op string, file string, batch bigint, "
            f"rejected string) using delta"
        )
        (batch,) = spark.sql(f"select coalesce(max(batch), 0) + 1 from {log}").first() or (1,)
        is_bad = "id is null or lsn is null or op is null"
        spark.sql(f"""
            insert into {log}
            select {", ".join(shape.types)}, lsn, op, file, {batch}, if({is_bad}, coalesce(value, ''), null)
            from ({events})
        """)
        spark.sql(f"select * from {log} where batch = {batch} and rejected is null").createOrReplaceTempView("events")


class MergeGuarded(Merge):
    """MERGE that skips older events, but forgets deleted rows. The script that the targets are ratios of."""

    title = "MERGE, ordering guard"
    is_guarded = True


class MergeTombstones(MergeGuarded):
    """MERGE that skips older events, also those of deleted rows."""

    title = "MERGE, ordering guard, tombstones"
    has_tombstones = True


class MergeLog(MergeTombstones):
    """As `MergeTombstones`, with a log of all events and a quarantine for lines that cannot be decoded."""

    title = "MERGE, guard, tombstones, log, quarantine"
    keeps_log = True


class Rebuild(Script):
    """All files, read again for each batch: the last event of each key by ROW_NUMBER, written as a new table."""

    title = "Rebuild with ROW_NUMBER"

    def apply_files(self, files: list[str]) -> None:
        """Writes the table from all files that are there."""
        self.session.sql(f"create schema if not exists {self.schema}")
        self.events(sorted(self.applied.done() | set(files)))
        self.session.sql(latest_sql(self.place.shape, "events")).createOrReplaceTempView("latest")
        self.session.sql(f"""
            create or replace table {self.table} using delta as
            select {", ".join(self.place.shape.types)}, lsn from latest where op <> 'd'
        """)


class Decode(Script):
    """No table of current rows: Spark's own reader, the declared types, appended to a Delta table."""

    title = "Decode to Delta"

    def apply_files(self, files: list[str]) -> None:
        """Appends the events."""
        self.session.sql(f"create schema if not exists {self.schema}")
        self.events(files).write.format("delta").mode("append").saveAsTable(self.table)
