"""What is no change file of this project's: messages of other tools, tables of lake formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .cases import doctor, inspect, scaffold, sources

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [
    ("01", "", "Canal JSON"),
    ("11", "maxwell", "Maxwell"),
    ("11", "dms-kinesis", "AWS DMS messages"),
    ("11", "cockroachdb", "CockroachDB changefeed"),
    ("24", "", "Avro's JSON encoding"),
]


@pytest.mark.parametrize(("case", "folder", "name"), MESSAGES)
def test_messages_of_other_tools(tmp_path: Path, case: str, folder: str, name: str) -> None:
    inspected = inspect(case, folder).text
    assert f"of {name}, which no model reads." in inspected
    assert "?" not in inspected
    found = doctor(case, folder)
    assert (found.code, "messages-of-other-tools" in found.text) == (3, True)
    made = scaffold(tmp_path / "p", case, folder)
    assert (made.code, f"foreign_message: {name}" in made.text) == (1, True)
    assert sources(tmp_path / "p") == {}
