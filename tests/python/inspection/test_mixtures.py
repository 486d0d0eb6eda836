"""Which files are of one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import Entity, inspect


def inspected(folder: Path, files: dict[str, list[dict[str, Any]]]) -> dict[str, Entity]:
    """The entities of files, by their locations."""
    for name, rows in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return {entity.files.location: entity for entity in inspect(str(folder)).entities}


def event(table: str, row: dict[str, Any]) -> dict[str, Any]:
    source = {"connector": "postgresql", "schema": "public", "table": table, "lsn": 1, "txId": row["id"]}
    return {"before": None, "after": row, "source": source, "op": "c"}


def test_events_of_two_tables(tmp_path: Path) -> None:
    files = {"all/x.json": [event("customers", {"id": 1})], "all/y.json": [event("orders", {"id": 7, "total": 5})]}
    entity = inspected(tmp_path, files)["all"]
    assert entity.source.names == ("public.customers", "public.orders")
    assert (entity.name, entity.key.columns) == ("all", ())
    assert "are public.customers and public.orders parts of one table" in entity.questions[0]


@pytest.mark.parametrize(
    ("columns", "is_asked"), [(({"id", "total"}, {"id", "name"}), True), (({"id", "a"}, {"id", "a", "b"}), False)]
)
def test_rows_with_few_columns_in_common(tmp_path: Path, columns: tuple[set[str], set[str]], is_asked: bool) -> None:
    rows = [dict.fromkeys(sorted(names), number) for number, names in enumerate(columns)]
    entity = inspected(tmp_path, {f"region={number}/a.json": [row] for number, row in enumerate(rows)})[""]
    assert ("few columns in common" in str(entity.key.question)) == is_asked
    assert (entity.key.columns == ()) == is_asked


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (("topics/t", "backfill/t"), {"topics/t": "backfill/t", "backfill/t": "topics/t"}),
        (("t/2024-05-01", "t/2024-05-02"), {"t": None}),
        (("1001", "1002"), {"1001": "1002", "1002": "1001"}),
        (("table=a", "table=b"), {"table=a": None, "table=b": None}),
    ],
)
def test_folders_of_one_table_are_asked_about(
    tmp_path: Path, folders: tuple[str, ...], expected: dict[str, str | None]
) -> None:
    name = "t+0+0.json" if "t" in folders[0].split("/") else "part.json"
    found = inspected(tmp_path, {f"{folder}/{name}": [{"id": 1}, {"id": 2}] for folder in folders})
    assert found.keys() == expected.keys()
    for location, other in expected.items():
        asked = [question for question in found[location].questions if "is it one table" in question]
        assert [f"files in {other}?" in question for question in asked] == ([True] if other else [])


def test_table_is_called_after_the_folder_that_is_inspected(tmp_path: Path) -> None:
    assert inspected(tmp_path / "orders" / "2024-05-01", {"part-1.json": [{"id": 1}]})[""].name == "orders"
