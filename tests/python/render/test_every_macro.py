"""What holds for every macro of the project, whatever it does."""

from __future__ import annotations

import ast
import re
import statistics
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import jinja2.meta
import jinja2.nodes
import pytest
import yaml
from dbt_common.clients.jinja import get_environment

from .harness import MACROS, PACKAGE, REPOSITORY, Renderer, all_macros

PUBLIC = MACROS / "_public__macros.yml"
MOST_PUBLIC = 28
LONGEST_BODY = 60
LONGEST_LINE = 120
# Folders of the macros that a model calls, where they are no hooks.
OF_MODELS = {"models", "marts"}
# From the lowest to the highest: a macro calls those of its own folder and of the folders before it.
LAYERS = [
    "rules",
    "lib",
    "feeds",
    "hudi",
    "tables",
    "files",
    "decode",
    "state",
    "history",
    "marts",
    "checks",
    "operations",
    "purge",
    "models",
    "dbt",
    "deprecated",
]
# dbt finds these by their names: overrides, and hooks, in macros/dbt and here.
HOOKS = {"create_file_ledger", "delete_vanished_keys"}
# Methods of Renderer whose first argument is a macro.
RENDERS = {"render", "sql", "does", "refusal"}


@cache
def documented() -> dict[str, dict[str, Any]]:
    """The YAML entry of each public macro; all are in one file."""
    assert [*MACROS.rglob("*.yml"), *MACROS.rglob("*.yaml")] == [PUBLIC]
    entries: dict[str, dict[str, Any]] = {}
    for entry in yaml.safe_load(PUBLIC.read_text("utf-8"))["macros"]:
        assert entry["name"] not in entries, f"{entry['name']} has two entries"
        entries[entry["name"]] = entry
    return entries


@cache
def parsed_macros() -> dict[str, jinja2.nodes.Template]:
    """Each macro as Jinja reads it."""
    environment = get_environment(None, capture_macros=False)
    return {name: environment.parse(macro.macro_sql) for name, macro in all_macros().items()}


@cache
def rendered() -> frozenset[str]:
    """The macros that a test of this folder renders, by the text of the tests."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RENDERS:
                names |= {str(first.value) for first in node.args[:1] if isinstance(first, ast.Constant)}
    return frozenset(names)


def test_every_public_macro_has_a_render_test() -> None:
    assert set(documented()) - rendered() == set()


def test_what_the_yaml_says_of_public_macros() -> None:
    """The others are private: free to change, and in no YAML."""
    assert len(documented()) <= MOST_PUBLIC
    for name, entry in documented().items():
        said = entry["description"]
        assert said.strip().endswith((".", ")")), name
        if all_macros()[name].path.parent.name in OF_MODELS and "-hook of" not in said:
            assert re.search(rf"Example: `[^`]*\b{name}\([^`]*`", said), f"{name}: no example"
        macro = parsed_macros()[name].find(jinja2.nodes.Macro)
        assert macro is not None, name
        arguments = entry.get("arguments", [])
        assert [argument["name"] for argument in arguments] == [argument.name for argument in macro.args], name
        for argument in arguments:
            assert argument["type"], (name, argument)
            assert argument["description"].strip().endswith("."), (name, argument)


def test_every_macro_uses_only_names_that_dbt_gives() -> None:
    """A misspelt name renders as nothing in Jinja, and takes a condition with it."""
    given = set(Renderer().context()) | {"loop"}
    unknown = {}
    for name, parsed in parsed_macros().items():
        # A variable that only one branch sets counts as undeclared in Jinja.
        stored = {node.name for node in parsed.find_all(jinja2.nodes.Name) if node.ctx == "store"}
        unknown[name] = jinja2.meta.find_undeclared_variables(parsed) - given - stored
    assert {name: names for name, names in unknown.items() if names} == {}


def test_every_macro_calls_only_macros_that_are_there() -> None:
    called = {
        (name, node.attr)
        for name, parsed in parsed_macros().items()
        for node in parsed.find_all(jinja2.nodes.Getattr)
        if isinstance(node.node, jinja2.nodes.Name) and node.node.name == PACKAGE
    }
    assert len(called) > len(all_macros())
    assert {(name, callee) for name, callee in called if callee not in all_macros()} == set()


def body_lines(name: str) -> int:
    """Lines of a macro between its tags, blank ones not counted."""
    return sum(bool(line.strip()) for line in all_macros()[name].body.splitlines())


def test_every_body_is_short() -> None:
    # A table of rules is data.
    bodies = [name for name, macro in all_macros().items() if macro.path.parent.name != "rules"]
    assert [name for name in bodies if body_lines(name) > LONGEST_BODY] == []


def test_median_body_is_under_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    median = statistics.median(map(body_lines, all_macros()))
    with capsys.disabled():
        print(f"\n{len(all_macros())} macros, median body {median:g} lines")
    assert median < 10


def test_no_line_is_long() -> None:
    """Of SQL, Jinja or YAML."""
    folders = [MACROS, REPOSITORY / "models", REPOSITORY / "tests" / "generic", REPOSITORY / "snapshots"]
    lines = [
        (path.relative_to(REPOSITORY).as_posix(), number, line)
        for folder in folders
        for path in folder.rglob("*.sql")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
    ]
    assert [
        f"{path}:{number}" for path, number, line in lines if len(line) > LONGEST_LINE or line != line.rstrip()
    ] == []


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(MACROS.rglob("*.sql")) if path.parent.name not in {"lib", "hudi", "deprecated"}],
    ids=lambda path: path.stem,
)
def test_file_has_its_macro(path: Path) -> None:
    """A file is named after the macro that is called from outside of it; three folders have files by subject."""
    here = {name for name, macro in all_macros().items() if macro.path == path}
    assert here & {path.stem, f"_{path.stem}"}


def test_a_private_macro_begins_with_an_underscore() -> None:
    by_name = {name for name, macro in all_macros().items() if macro.path.parent.name in {"dbt", "deprecated"}} | HOOKS
    without = {name for name in all_macros() if not name.startswith("_")}
    assert without <= set(documented()) | by_name
    assert not {name for name in documented() if name.startswith("_")}


def file_of(name: str) -> str:
    """The path of a macro's file below macros/."""
    return all_macros()[name].path.relative_to(MACROS).as_posix()


def calls_of_files() -> dict[str, set[str]]:
    """The other files whose macros each file's macros call."""
    calls: dict[str, set[str]] = {file_of(name): set() for name in all_macros()}
    for name, parsed in parsed_macros().items():
        for node in parsed.find_all(jinja2.nodes.Getattr):
            if isinstance(node.node, jinja2.nodes.Name) and node.node.name == PACKAGE:
                calls[file_of(name)] |= {file_of(node.attr)} - {file_of(name)}
    return calls


def test_no_macro_calls_a_higher_folder() -> None:
    calls = calls_of_files()
    assert {path.split("/")[0] for path in calls} == set(LAYERS)
    # By their folders that macro tells those of this project from a user's in a clone.
    folders = re.search(r"macros/\(([a-z|]+)\)/", "".join(re.findall('"(.*?)"', all_macros()["_macro_of_id"].body)))
    assert folders is not None
    assert set(folders[1].split("|")) == set(LAYERS)
    rank = {path: LAYERS.index(path.split("/")[0]) for path in calls}
    assert [(path, callee) for path, callees in calls.items() for callee in callees if rank[callee] > rank[path]] == []


def test_no_files_call_each_other_in_a_cycle() -> None:
    TopologicalSorter(calls_of_files()).prepare()


def test_no_macro_is_dispatched() -> None:
    """But dbt's own: a project that overrides a macro of this one would take its guarantees away."""
    assert [name for name in all_macros() if name.startswith("default__")] == []
    dispatched = {
        (name, *(argument.value for argument in call.args if isinstance(argument, jinja2.nodes.Const)))
        for name, parsed in parsed_macros().items()
        for call in parsed.find_all(jinja2.nodes.Call)
        if isinstance(call.node, jinja2.nodes.Getattr) and call.node.attr == "dispatch"
    }
    assert len(dispatched) > 1
    assert {package for _, _, package in dispatched} == {"dbt"}
