"""What holds for each macro of the project, whatever it does."""

from __future__ import annotations

import ast
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import jinja2.meta
import jinja2.nodes
import pytest
import yaml
from dbt_common.clients.jinja import get_environment

from .harness import DISPATCH_PREFIXES, MACROS, PACKAGE, Renderer, all_macros

LONGEST_BODY = 60
# Methods of Renderer whose first argument is a macro.
RENDERS = {"render", "sql", "does", "refusal"}


@cache
def documented() -> dict[str, tuple[Path, dict[str, Any]]]:
    """The YAML entry of each macro, and its file."""
    entries: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(MACROS.rglob("*.yml")):
        for entry in yaml.safe_load(path.read_text("utf-8"))["macros"]:
            assert entry["name"] not in entries, f"{entry['name']} has two entries"
            entries[entry["name"]] = (path, entry)
    return entries


@cache
def rendered() -> frozenset[str]:
    """The macros that a test of this folder renders, by the text of the tests."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RENDERS:
                names |= {str(first.value) for first in node.args[:1] if isinstance(first, ast.Constant)}
    return frozenset(names)


@pytest.mark.parametrize("name", all_macros())
def test_has_a_render_test(name: str) -> None:
    assert name in rendered(), f"no test in tests/python/render renders {name}"


@pytest.mark.parametrize("name", all_macros())
def test_is_documented_in_the_yaml_of_its_folder(name: str) -> None:
    assert name in documented(), f"{name} has no YAML entry"
    path, entry = documented()[name]
    folder = all_macros()[name].path.parent
    assert path == folder / f"_{folder.name}__macros.yml"
    assert entry["description"].strip().endswith((".", ")"))
    macro: Any = Renderer().generator(name).get_macro()
    arguments = entry.get("arguments", [])
    assert [argument["name"] for argument in arguments] == list(macro.arguments)
    for argument in arguments:
        assert argument["type"], argument
        assert argument["description"].strip().endswith("."), argument


def test_every_entry_is_of_a_macro() -> None:
    assert set(documented()) <= set(all_macros())


@pytest.mark.parametrize("name", all_macros())
def test_uses_only_names_that_dbt_gives(name: str) -> None:
    """A misspelt name renders as nothing in Jinja, and takes a condition with it."""
    parsed = get_environment(None, capture_macros=False).parse(all_macros()[name].macro_sql)
    given = set(Renderer().context())
    # A variable that only one branch sets counts as undeclared in Jinja.
    stored = {node.name for node in parsed.find_all(jinja2.nodes.Name) if node.ctx == "store"}
    assert jinja2.meta.find_undeclared_variables(parsed) <= given | stored | {"loop"}


@pytest.mark.parametrize("name", all_macros())
def test_calls_only_macros_that_are_there(name: str) -> None:
    parsed = get_environment(None, capture_macros=False).parse(all_macros()[name].macro_sql)
    for node in parsed.find_all(jinja2.nodes.Getattr):
        if isinstance(node.node, jinja2.nodes.Name) and node.node.name == PACKAGE:
            assert node.attr in all_macros()


def body_lines(name: str) -> int:
    """Lines of a macro between its tags, blank ones not counted."""
    return sum(bool(line.strip()) for line in all_macros()[name].body.splitlines())


@pytest.mark.parametrize("name", all_macros())
def test_body_is_short(name: str) -> None:
    assert body_lines(name) <= LONGEST_BODY


def test_median_body_is_under_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    median = statistics.median(map(body_lines, all_macros()))
    with capsys.disabled():
        print(f"\n{len(all_macros())} macros, median body {median:g} lines")
    assert median < 10


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(MACROS.rglob("*.sql")) if path.parent.name != "_internal"],
    ids=lambda path: path.stem,
)
def test_file_has_its_macro(path: Path) -> None:
    """A file is named after the macro that is called from outside of it; `_internal` groups helpers of all folders."""
    here = {name for name, macro in all_macros().items() if macro.path == path}
    assert here & {path.stem, *(f"{prefix}__{path.stem}" for prefix in DISPATCH_PREFIXES)}


@pytest.mark.parametrize("name", [name for name in all_macros() if name.startswith("default__")])
def test_dispatched_macro_has_a_public_one(name: str) -> None:
    public = all_macros()[name.removeprefix("default__")]
    assert f'adapter.dispatch("{public.name}", "{PACKAGE}")' in public.macro_sql
