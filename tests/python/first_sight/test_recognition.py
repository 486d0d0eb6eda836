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


@pytest.mark.parametrize(
    ("folder", "column", "deletes", "before"),
    [
        ("is_delete", "is_delete", "is_delete", None),
        ("qlik", "header__change_oper", "header__change_oper = 'D'", "header__change_oper = 'B'"),
        (
            "change-feed",
            "_change_type",
            "_change_type = 'delete'",
            "_change_type in ('update_preimage', 'update_before')",
        ),
        ("sqlserver-capture", "__$operation", '"`__$operation` = 1"', '"`__$operation` = 3"'),
    ],
)
def test_columns_that_mark_deletes(tmp_path: Path, folder: str, column: str, deletes: str, before: str | None) -> None:
    for said in (inspect("03", folder), scaffold(tmp_path / "p", "03", folder)):
        assert f"apply_as_deletes: {deletes};" in said.text
        assert (f"ignore_rows: {before} for" in said.text) == (before is not None)
    (table,) = sources(tmp_path / "p").values()
    # Without its type nothing is built.
    assert [found for found in table["columns"] if found["name"] == column and "data_type" in found] == []


def test_table_of_a_lake_format(tmp_path: Path) -> None:
    inspected = inspect("26").text
    assert "! items: lake_table: Delta. It is a table of its own: its log (_delta_log)" in inspected
    assert "?" not in inspected
    found = doctor("26")
    assert (found.code, "lake-table" in found.text) == (3, True)
    made = scaffold(tmp_path / "p", "26")
    assert (made.code, "lake_table: Delta" in made.text) == (1, True)
    assert sources(tmp_path / "p") == {}
