"""A project beside a folder of change files, and what a scaffold does to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from alluvium.inspection import inspect
from alluvium.scaffolding import Choices, Scaffold, plan

SOURCES = "models/bronze/shop/_shop__sources.yml"
MODELS = "models/silver/shop/shop__orders.yml"


def landed(root: Path, topic: str, *rows: dict[str, Any], offset: int = 0) -> None:
    path = root / topic / "partition=0" / f"{topic}+0+{offset:010d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    table = topic.rpartition(".")[2]
    lines = [
        {
            "before": None,
            "after": row,
            "source": {"connector": "mysql", "table": table, "file": "b.000001", "pos": number + 1, "row": 0},
            "op": "c",
        }
        for number, row in enumerate(rows, start=offset)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def scaffolded(root: Path, folder: str = "landing", **options: Any) -> Scaffold:
    """What a scaffold did; it is written."""
    scaffold = plan(inspect(str(root / folder)), "shop", root / "project", Choices(**options))
    scaffold.write(root / "project")
    return scaffold


def kinds(scaffold: Scaffold) -> dict[str, str]:
    return {change.path: change.kind for change in scaffold.changes}


def read(root: Path, path: str) -> str:
    return (root / "project" / path).read_text(encoding="utf-8")


def document(root: Path, path: str) -> Any:
    return yaml.safe_load(read(root, path))


def model_of(root: Path, name: str) -> dict[str, Any]:
    """What the project's YAML says of a model; dbt refuses what says it twice."""
    files = sorted((root / "project/models").rglob("*.y*ml"))
    entries = [entry for file in files for entry in yaml.safe_load(file.read_text("utf-8")).get("models", [])]
    (model,) = [entry for entry in entries if entry["name"] == name]
    return dict(model)


def columns_of(root: Path, name: str) -> list[str]:
    return [column["name"] for column in model_of(root, name)["columns"]]


def table_of(root: Path, name: str = "orders") -> dict[str, Any]:
    (source,) = document(root, SOURCES)["sources"]
    return next(table for table in source["tables"] if table["name"] == name)
