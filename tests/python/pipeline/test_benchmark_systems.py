"""Scripts of the benchmark against its oracle: right ones have equal digests, the others a number of wrong rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.generator import Shape, Stream
from benchmarks.oracle import Oracle
from benchmarks.systems import system
from benchmarks.systems.base import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = Shape(200, churn=0.5, late=0.3, inserts=0.1, columns=8)


@pytest.mark.parametrize(
    ("name", "shape", "wrong"),
    [
        ("merge_log", replace(LATE, format="json_schema"), False),
        ("merge_guarded", replace(LATE, late=0, format="parquet"), False),
        # A late update brings back a deleted row.
        ("merge_guarded", LATE, True),
    ],
)
def test_tables_of_scripts(spark: SparkSession, tmp_path: Path, name: str, shape: Shape, wrong: bool) -> None:
    entity = f"bench_{name}_{shape.format}"
    stream, oracle = Stream(shape, tmp_path / "landing", entity), Oracle(shape)
    script = system(name)(Place(tmp_path, stream.folder, shape, entity), spark)
    for batch in range(3):
        stream.land()
        if batch:
            oracle.apply(stream.events)
        script.apply()
    assert (script.digest() != oracle.digest) == wrong
    assert (oracle.wrong_rows(script.row_hashes()) > 0) == wrong
    assert script.apply() == {"files": 0}
