"""The alternative on one machine without Spark: DuckDB reads and orders, delta-rs merges."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import duckdb
from deltalake import DeltaTable, write_deltalake

from benchmarks.generator import FORMATS
from benchmarks.oracle import DUCKDB, Digest, digest_sql, row_hash_sql
from benchmarks.systems.base import WAREHOUSE, AppliedFiles, Place, System, read_sql

_SENT = {"timestamp_ntz": "bigint", "decimal(12,2)": "varchar", "string": "varchar"}
_TYPED = {"timestamp_ntz": "make_timestamp({})", "decimal(12,2)": "cast({} as decimal(12, 2))"}


class DuckDbDelta(System):
    """MERGE with ordering guard and tombstones, by delta-rs."""

    title = "DuckDB and delta-rs"

    def __init__(self, place: Place, session: object = None) -> None:
        super().__init__(place, session)
        self.applied = AppliedFiles(place)
        self.path = str(place.home / WAREHOUSE / place.entity)
        self.duckdb = duckdb.connect()
        self.duckdb.execute("set timezone = 'UTC'")
        if limit := os.environ.get("ALLUVIUM_DRIVER_MEMORY"):
            self.duckdb.execute(f"set memory_limit = '{limit.upper()}B'")

    def apply(self) -> dict[str, Any]:
        """Merges the latest event of each key of the new files."""
        new = self.applied.new()
        if not new:
            return {"files": 0}
        latest = self.duckdb.sql(self._latest(new)).fetch_record_batch()
        if not self.applied.done():
            write_deltalake(self.path, latest)
        else:
            merger = DeltaTable(self.path).merge(
                latest, "target.id = source.id", source_alias="source", target_alias="target"
            )
            merger.when_matched_update_all("source.lsn > target.lsn").when_not_matched_insert_all().execute()
        self.applied.add(new)
        return {"files": len(new)}

    def maintain(self) -> None:
        """OPTIMIZE of the table."""
        DeltaTable(self.path).optimize.compact()

    def read(self) -> None:
        """Groups the current rows by status."""
        self._query(read_sql("current_rows"))

    def digest(self) -> Digest:
        """Of the current rows."""
        (row,) = self._query(digest_sql(DUCKDB, self.place.shape.types, "current_rows"))
        return Digest(row[0], int(row[1]))

    def row_hashes(self) -> Iterator[tuple[int | None, int]]:
        """Key and hash of each current row."""
        yield from self._query(f"select id, {row_hash_sql(DUCKDB, self.place.shape.types)} from current_rows")

    def _query(self, sql: str) -> list[Any]:
        stored = DeltaTable(self.path).to_pyarrow_dataset()
        self.duckdb.register("stored", stored)
        return list(self.duckdb.sql(f"with current_rows as (select * from stored where not deleted) {sql}").fetchall())

    def _latest(self, files: list[str]) -> str:
        shape = self.place.shape
        kind = FORMATS[shape.format]
        row = ", ".join(f"{name} {_SENT.get(data_type, data_type)}" for name, data_type in shape.types.items())
        envelope = {
            "before": f"struct({row})",
            "after": f"struct({row})",
            "source": "struct(lsn bigint)",
            "op": "varchar",
        }
        fields = dict(part.split(" ", 1) for part in row.split(", ")) | {"__op": "varchar", "__source_lsn": "bigint"}
        fields = fields if kind.is_flattened else envelope
        prefix = ""
        if kind.has_schema:
            whole = ", ".join(f'"{name}" {data_type}' for name, data_type in envelope.items())
            fields, prefix = {"payload": f"struct({whole})"}, "payload."
        if kind.reader == "parquet":
            relation = f"read_parquet({files!r}, hive_partitioning = false)"
        else:
            relation = (
                f"read_json({files!r}, columns = {fields!r}, format = 'newline_delimited', hive_partitioning = false)"
            )
        image = "{}" if kind.is_flattened else f"coalesce({prefix}after, {prefix}before).{{}}"
        lsn, op = ("__source_lsn", "__op") if kind.is_flattened else (f"{prefix}source.lsn", f"{prefix}op")
        columns = ", ".join(
            f"{_TYPED.get(data_type, '{}').format(image.format(name))} as {name}"
            for name, data_type in shape.types.items()
        )
        return f"""
            select {columns}, {lsn} as lsn, {op} = 'd' as deleted
            from {relation}
            qualify row_number() over (partition by id order by lsn desc) = 1
        """
