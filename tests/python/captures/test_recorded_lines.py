"""The lines that the tests of single facts keep are recorded ones, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline.recorded import FIXTURES, fixtures, lines_of

from .project import REPOSITORY

CAPTURES = REPOSITORY.parent / "shared" / "data" / "captures"


def objects(captures: Path, fixture: Path) -> list[Path]:
    """The recorded objects of a fixture's corpus, layout and topic."""
    corpus, layout, topic = fixture.relative_to(FIXTURES).parts[:3]
    return [path for path in (captures / corpus / "bronze" / layout).rglob(f"{topic}[+(]*") if path.is_file()]


@pytest.mark.parametrize("fixture", list(fixtures()), ids=lambda path: path.name)
def test_each_kept_line_was_recorded(fixture: Path) -> None:
    if not CAPTURES.is_dir():
        pytest.skip(f"{CAPTURES} is not there")
    found = objects(CAPTURES, fixture)
    assert found
    if ".jsonl" in fixture.name:
        there = {line for path in found for line in lines_of(path)}
        kept = lines_of(fixture)
        assert kept
        assert [line for line in kept if line not in there] == []
    else:
        assert fixture.read_bytes() in [path.read_bytes() for path in found if path.name == fixture.name]
