"""Statements that are there before the first one runs: from the command line, a file or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import QueryError
from .engine import Kind
from .output import say
from .statements import split

if TYPE_CHECKING:
    from .engine import Engine
    from .output import Output


def statements_of(texts: Sequence[str]) -> list[str]:
    """The statements of several texts.

    Raises:
        QueryError: there is none.
    """
    found = [statement for text in texts for statement in split(text).all]
    if not found:
        raise QueryError("There is no statement to run: say one with -e, in a file with -f, or pipe it in.")
    return found


def run(engine: Engine, statements: Sequence[str], output: Output) -> None:
    """Run statements one after the other and show their results; none where one of them must not be run.

    Raises:
        QueryError: one of them has an error; those after it are not run.
    """
    kinds = [engine.require_allowed(statement) for statement in statements]
    queries = kinds.count(Kind.QUERY)
    if output.holds_one_result and queries != 1:
        raise QueryError(
            f"--format {output.form.value} holds the result of one query, and there are {queries}: run one at a time."
        )
    if output.file is not None and queries > 1:
        raise QueryError(f"--output holds the result of one query, and there are {queries}: run one at a time.")
    if not engine.has_schema:
        say(missing_schema(engine))
    for statement, kind in zip(statements, kinds, strict=True):
        if output.holds_one_result and kind is not Kind.QUERY:
            engine.run(statement, lambda result: None)
        else:
            engine.run(statement, output.show, output.rows)


def missing_schema(engine: Engine) -> str:
    """What to say where the target's schema is not there."""
    return f"There is no schema {engine.target.schema} yet: dbt build makes it. The current schema is {engine.schema}."
