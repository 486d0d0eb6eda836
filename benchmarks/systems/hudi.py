"""Hudi's upsert through Spark's DataFrame writer, with the LSN as ordering field (precombine)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from benchmarks.systems.base import WAREHOUSE
from benchmarks.systems.on_spark import Script


class HudiUpsert(Script):
    """A Merge-on-Read table; its compaction runs inline, so that the writer pays for it."""

    title = "Hudi upsert, Merge on Read"
    environment: ClassVar[Mapping[str, str]] = {"ALLUVIUM_FILE_FORMAT": "hudi"}

    @property
    def current_rows(self) -> str:
        """The view over the latest commit; `apply` makes it."""
        return f"{self.place.entity}_hudi"

    def apply_files(self, files: list[str]) -> None:
        """Writes all events; Hudi keeps the one with the highest LSN of each key."""
        path = str(self.place.home / WAREHOUSE / f"{self.place.entity}_hudi")
        # The usual advice for a first load; an upsert looks up each key.
        operation = "upsert" if self.applied.done() else "bulk_insert"
        options = {
            "hoodie.table.name": self.place.entity,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "lsn",
            "hoodie.datasource.write.operation": operation,
            "hoodie.combine.before.insert": "true",
            "hoodie.compact.inline": "true",
            "hoodie.compact.inline.max.delta.commits": "10",
            "hoodie.bulkinsert.shuffle.parallelism": "4",
            "hoodie.upsert.shuffle.parallelism": "4",
        }
        # Hudi (1.2.0) has no type for timestamps without time zone; the session's is UTC.
        times = [name for name, data_type in self.place.shape.types.items() if data_type == "timestamp_ntz"]
        casts = [f"cast({name} as timestamp) as {name}" if name in times else name for name in self.place.shape.types]
        events = self.events(files).selectExpr(*casts, "lsn", "op = 'd' as _hoodie_is_deleted")
        events.write.format("hudi").options(**options).mode("append").save(path)
        self.session.read.format("hudi").load(path).createOrReplaceTempView(self.current_rows)
