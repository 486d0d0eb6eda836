"""The samples on disk are those that their generators make of the licensed data. Needs no Spark."""

from __future__ import annotations

import gzip
import io

import pyarrow.parquet as pq
import pytest

from scripts.samples.__main__ import SOURCES, files

from .loads import REPOSITORY, SAMPLES

DATA = REPOSITORY.parent / "shared" / "data"
# Beside the loads, not made by a generator.
BY_HAND = {"README.md", "LICENSE", "LICENSE.txt"}


def content(path: str, written: bytes) -> object:
    """What a file says: other versions of zlib and of pyarrow write other bytes for it."""
    if path.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(written))
        return table.schema, table.to_pylist()
    return gzip.decompress(written) if path.endswith(".gz") else written


@pytest.mark.parametrize("source", SOURCES)
def test_samples_are_what_the_generator_makes(source: str) -> None:
    made = files(source, DATA)
    found = {path.relative_to(SAMPLES / source).as_posix(): path for path in (SAMPLES / source).rglob("*")}
    on_disk = {name: path.read_bytes() for name, path in found.items() if path.is_file()}
    assert on_disk.keys() - BY_HAND == made.keys() - BY_HAND
    assert [path for path, written in made.items() if content(path, on_disk[path]) != content(path, written)] == []
