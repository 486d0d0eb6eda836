"""That the cases are the ones that were handed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cases import FOLDER

SHARED = Path(__file__).parents[4] / "shared" / "data" / "first-sight"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the cases are beside the project only where it is developed")
def test_copies_are_the_cases() -> None:
    for path in SHARED.rglob("*"):
        if path.is_file():
            assert (FOLDER / path.relative_to(SHARED)).read_bytes() == path.read_bytes(), path
