"""A script of the benchmark against its oracle: equal digests, and a number of wrong rows once it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.generator import Shape, Stream
from benchmarks.oracle import Oracle
from benchmarks.systems import system
from benchmarks.systems.base import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_merge_without_tombstones_is_right_until_late_events_arrive(spark: SparkSession, tmp_path: Path) -> None:
    shape = Shape(200, churn=0.5, late=0.3, inserts=0.1, columns=8, format="parquet", partitions=1)
    stream, oracle = Stream(shape, tmp_path / "landing", "bench_accounts"), Oracle(shape)
    script = system("merge_guarded")(Place(tmp_path, stream.folder, shape, "bench_accounts"), spark)
    stream.land()
    script.apply()
    assert script.digest() == oracle.digest
    stream.land()
    oracle.apply(stream.events)
    script.apply()
    assert script.digest() == oracle.digest
    stream.land()
    oracle.apply(stream.events)
    script.apply()
    # A late update brings back a deleted row.
    revived = script.digest().rows - oracle.digest.rows
    assert revived > 0
    assert oracle.wrong_rows(script.row_hashes()) == revived
    assert script.apply() == {"files": 0}
