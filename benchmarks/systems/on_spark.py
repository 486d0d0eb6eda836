"""What the systems on Spark share: the session, the digest and the read of their table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from benchmarks import side
from benchmarks.oracle import SPARK, Digest, digest_sql, row_hash_sql
from benchmarks.systems.base import AppliedFiles, Place, System, read_sql
from benchmarks.systems.records import events_sql, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkSystem(System):
    """A system with tables in a Spark catalog.

    Attributes:
        schema: of its tables.
    """

    schema: ClassVar[str] = "plain"
    session: SparkSession

    def __init__(self, place: Place, session: SparkSession) -> None:
        super().__init__(place, session)
        self.table = f"{self.schema}.{place.entity}"

    @classmethod
    def start(cls, home: Path) -> SparkSession:
        """The session of the repository's profile."""
        return side.session(home)

    @property
    def current_rows(self) -> str:
        """The relation to read: a table, a view, or a query in parentheses."""
        return self.table

    def read(self) -> None:
        """Groups the current rows by status."""
        self.session.sql(read_sql(self.current_rows)).collect()

    def digest(self) -> Digest:
        """Of the current rows."""
        (row,) = self.session.sql(digest_sql(SPARK, self.place.shape.types, self.current_rows)).collect()
        return Digest(row[0], int(row[1]))

    def row_hashes(self) -> Iterator[tuple[int | None, int]]:
        """Key and hash of each current row."""
        hashed = row_hash_sql(SPARK, self.place.shape.types)
        for row in self.session.sql(f"select id, {hashed} from {self.current_rows}").toLocalIterator():
            yield row[0], row[1]


class Script(SparkSystem):
    """A PySpark script that lists its applied files in a JSON file."""

    def __init__(self, place: Place, session: SparkSession) -> None:
        super().__init__(place, session)
        self.applied = AppliedFiles(place)

    def apply(self) -> dict[str, object]:
        """Reads the new files, if any."""
        new = self.applied.new()
        if new:
            self.apply_files(new)
            self.applied.add(new)
        return {"files": len(new)}

    def apply_files(self, files: list[str]) -> None:
        """Brings the table up to date with files that are new."""
        raise NotImplementedError

    def events(self, files: list[str]) -> DataFrame:
        """The typed columns, `lsn` and `op` of each record of files; as the view `events` too."""
        read_files(self.session, self.place.shape, files).createOrReplaceTempView("records")
        found = self.session.sql(events_sql(self.place.shape, "records"))
        found.createOrReplaceTempView("events")
        return found

    @property
    def column_types(self) -> str:
        """The columns of a table, as `create table` lists them."""
        return ", ".join(f"{name} {data_type}" for name, data_type in self.place.shape.types.items())
