"""The process of a system: DuckDB with delta-rs, which needs no JVM, against the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.generator import ENTITY, Shape, Stream
from benchmarks.oracle import Digest, Oracle
from benchmarks.process import BENCH_PYTHON, SystemFailedError, SystemProcess

pytestmark = pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="needs `make setup-bench`")
SHAPE = Shape(500, churn=0.2, late=0.2, inserts=0.1, columns=9)


def process(stream: Stream, home: Path, timeout: float = 60) -> SystemProcess:
    return SystemProcess("duckdb_delta", home, {ENTITY: (stream.folder, stream.shape)}, "1g", timeout)


@pytest.mark.parametrize("name", ["json", "json_schema", "json_gzip", "flattened", "parquet"])
def test_tables_are_those_of_the_oracle(name: str, tmp_path: Path) -> None:
    shape = Shape(500, churn=0.2, late=0.2, inserts=0.1, columns=9, format=name)
    stream, oracle = Stream(shape, tmp_path / "landing"), Oracle(shape)
    with process(stream, tmp_path / "home") as own:
        own.send("start")
        for batch in range(3):
            stream.land()
            if batch:
                oracle.apply(stream.events)
            cost = own.cost("apply")
            assert own.wrong_rows(oracle, Digest(*own.send("digest")["value"])) == 0
            assert cost.answer["files"] > 0
            assert cost.bytes_written > 1000
            assert cost.peak_memory > 10**7
        own.send("maintain")
        own.send("read")


def test_wrong_rows_of_a_table_are_counted(tmp_path: Path) -> None:
    stream, oracle = Stream(SHAPE, tmp_path / "landing"), Oracle(SHAPE)
    with process(stream, tmp_path / "home") as own:
        own.send("start")
        stream.land()
        own.send("apply")
        stream.land()
        changed = oracle.apply(stream.events)
        assert own.wrong_rows(oracle, Digest(*own.send("digest")["value"])) == changed


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    stream = Stream(SHAPE, tmp_path / "landing")
    with process(stream, tmp_path / "home") as own:
        own.send("start")
        with pytest.raises(SystemFailedError, match="duckdb_delta: digest failed: TableNotFoundError"):
            own.send("digest")
        own.send("start")


def test_a_command_that_takes_too_long_ends_the_process(tmp_path: Path) -> None:
    stream = Stream(SHAPE, tmp_path / "landing")
    stream.land()
    with process(stream, tmp_path / "home", timeout=0) as own:
        with pytest.raises(SystemFailedError, match="start took more than 0 s"):
            own.send("start")
        own.timeout = 60
        with pytest.raises(SystemFailedError, match="the process"):
            own.send("apply")
