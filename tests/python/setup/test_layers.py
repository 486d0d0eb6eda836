"""Modules of Python import downwards, wherever the import stands: at the top, in a function, for types only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
# What an import may reach: the lines above its own. A wheel ends before `scripts`.
LAYERS = """
alluvium spark_udfs
alluvium.options alluvium.rules alluvium.templates alluvium.wording
alluvium.runtime
alluvium.inspection alluvium.server
alluvium.builds alluvium.emr alluvium.query alluvium.scaffolding
alluvium.diagnosis alluvium.new_project
alluvium.pages
alluvium.cli dbt_alluvium
scripts
benchmarks
"""
FILES = {
    ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): file
    for package in ("alluvium", "spark_udfs", "dbt_alluvium", "scripts", "benchmarks")
    for file in (REPOSITORY / package).rglob("*.py")
}


def imported(name: str) -> Iterator[str]:
    """The modules of the repository that one imports."""
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        base = ""
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) + "."
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            whole = f"{base}{alias.name}".replace("alluvium.spark_udfs", "spark_udfs")
            yield from [one for one in (whole, whole.rpartition(".")[0]) if one in FILES][:1]


IMPORTS = {name: set(imported(name)) for name in FILES}


def test_no_modules_import_each_other() -> None:
    assert sum(map(len, IMPORTS.values())) > len(FILES)
    TopologicalSorter(IMPORTS).prepare()  # raises CycleError, which names them


def test_packages_are_layered() -> None:
    level = {unit: number for number, line in enumerate(LAYERS.split("\n")) for unit in line.split()}
    units = {name: ".".join(name.split(".")[: 2 if name.startswith("alluvium.") else 1]) for name in FILES}
    upwards = {
        f"{name} imports {other}"
        for name, others in IMPORTS.items()
        for other in others
        if units[other] != units[name] and level[units[other]] >= level[units[name]]
    }
    assert upwards == set()
