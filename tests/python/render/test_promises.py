"""What tests/README.md and the test of broken promises name is there."""

from __future__ import annotations

import ast
import re

from pipeline.test_broken_promises import PROMISES

from .harness import MACROS, REPOSITORY

TESTS = REPOSITORY / "tests"
# Number of a promise, what it says of one thing, the test, the fault.
ROW = re.compile(r"\| (\d)\. [^|]+ \| `([\w/]+\.py)::(\w+)` \| [^|]+ \|")


def test_each_promise_has_tests_that_are_there() -> None:
    lines = [line for line in (TESTS / "README.md").read_text("utf-8").splitlines() if re.match(r"\| \d", line)]
    rows = [found.groups() for found in map(ROW.fullmatch, lines) if found]
    assert len(rows) == len(lines)
    assert sorted({int(number) for number, _, _ in rows}) == list(range(1, len(PROMISES) + 1))
    for _, path, test in rows:
        module = ast.parse((TESTS / "python" / path).read_text("utf-8"))
        assert test in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, (path, test)


def test_each_line_that_a_test_breaks_is_there() -> None:
    """That test is slow: here a macro that says something else is seen at once."""
    for promise, broken in PROMISES.items():
        assert (MACROS / broken.macro).read_text("utf-8").count(broken.said) == 1, promise
