"""The samples on disk are those that their generators make of the licensed data. Needs no Spark."""

from __future__ import annotations

import pytest

from scripts.samples.__main__ import SOURCES, files

from .loads import REPOSITORY, SAMPLES

DATA = REPOSITORY.parent / "shared" / "data"


@pytest.mark.parametrize("source", SOURCES)
def test_samples_are_what_the_generator_makes(source: str) -> None:
    made = files(source, DATA)
    folders = {path.partition("/")[0] for path in made}
    on_disk = {
        str(path.relative_to(SAMPLES / source)): path.read_bytes()
        for folder in folders
        for path in (SAMPLES / source / folder).rglob("*")
        if path.is_file()
    }
    assert on_disk.keys() == made.keys()
    assert [path for path, content in made.items() if on_disk[path] != content] == []
