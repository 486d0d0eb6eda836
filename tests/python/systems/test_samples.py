"""The samples are what `scripts/samples` makes of the licensed data, which lies beside the project."""

from __future__ import annotations

import gzip
import io

import pyarrow.parquet as pq
import pytest

from scripts.samples.__main__ import SOURCES, generated

from .loads import REPOSITORY, SAMPLES

DATA = REPOSITORY.parent / "shared" / "data"
# Written by hand.
BY_HAND = "README.md"


def content(name: str, written: bytes) -> object:
    """What a file says: other versions of zlib and of pyarrow write other bytes for it."""
    if name.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(written))
        return table.schema, table.to_pylist()
    return gzip.decompress(written) if name.endswith(".gz") else written


@pytest.mark.parametrize("source", SOURCES)
def test_samples_are_what_the_generator_makes(source: str) -> None:
    made = {path: content(path, written) for path, written in generated(source, DATA).items()}
    files = [file for file in (SAMPLES / source).rglob("*") if file.is_file()]
    found = {file.relative_to(SAMPLES / source).as_posix(): file for file in files}
    assert made.keys() == found.keys() - {BY_HAND}
    assert [
        path for path, file in found.items() if path != BY_HAND and content(path, file.read_bytes()) != made[path]
    ] == []
