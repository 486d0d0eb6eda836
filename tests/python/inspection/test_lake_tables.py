"""Tables of lake formats among landed files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from alluvium.inspection import inspect

if TYPE_CHECKING:
    from pathlib import Path

LOGS = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Hudi": ".hoodie/hoodie.properties",
    "Iceberg": "metadata/00000-1d7b6d1c.metadata.json",
    "Paimon": "snapshot/snapshot-1",
    "Lance": "_versions/1.manifest",
}


def landed(folder: Path, *paths: str) -> str:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps({"id": 1}) + "\n", encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("folder", ["", "lake/items/"])
def test_table_is_named_and_not_read(tmp_path: Path, name: str, folder: str) -> None:
    paths = (f"{folder}{path}" for path in (LOGS[name], "data/part-0.json", "day=1/part-1.json"))
    (entity,) = inspect(landed(tmp_path, *paths)).entities
    assert (entity.records.lake_format, entity.records.lines) == (name, 0)
    assert (entity.shape, entity.questions) == (None, ())


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("below", ["day=1", "day=1/hour=2", "day=1/hour=2/part-0.json"])
def test_part_of_a_table_is_named_and_not_read(tmp_path: Path, name: str, below: str) -> None:
    landed(tmp_path, LOGS[name], "day=1/hour=2/part-0.json")
    (entity,) = inspect(str(tmp_path / below)).entities
    assert (entity.records.lake_format, entity.shape, entity.records.lines) == (name, None, 0)


def test_change_files_beside_a_table_are_read(tmp_path: Path) -> None:
    paths = ("items/_delta_log/0.json", "items/part-0.json", "orders/0.json", "snapshot/0.json", "metadata/0.json")
    found = inspect(landed(tmp_path, *paths)).entities
    assert {entity.files.location: entity.shape for entity in found} == {
        "items": None,
        "orders": "row",
        "snapshot": "row",
        "metadata": "row",
    }
