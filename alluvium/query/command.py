"""What ``alluvium sql`` does with its options."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from alluvium.runtime.profile import Target

from . import Format, QueryError, script
from .engines import engine_of
from .output import Output


def texts_to_run(execute: Sequence[str], file: Path | None) -> list[str] | None:
    """The texts with statements: from the options, else from the standard input; None where that is a terminal.

    Raises:
        QueryError: the file or the standard input cannot be read, or there are statements beside it.
    """
    if file is not None:
        if execute:
            raise QueryError("Statements come from -e or from -f, not from both.")
        try:
            return [file.read_text(encoding="utf-8-sig")]
        except (OSError, UnicodeDecodeError) as error:
            raise QueryError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if execute:
        return list(execute)
    return None if sys.stdin.isatty() else [_typed_in()]


def _typed_in() -> str:
    """What is piped in: UTF-8, as a file is, whatever the terminal's locale."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise QueryError(f"The standard input cannot be read: {error}.") from error


def run(texts: Sequence[str] | None, output: Output, target: Target, *, may_write: bool, is_quiet: bool) -> None:
    """Run statements and show their results.

    Args:
        texts: with the statements; None for a prompt.
        output: how results are shown.
        target: where to run.
        may_write: whether statements that change something are run.
        is_quiet: whether Spark's own log is suppressed.

    Raises:
        QueryError: a statement has an error, or must not run.
    """
    if texts is None and (output.file is not None or output.form is Format.parquet):
        raise QueryError("A prompt shows its results: --output and parquet need a statement, with -e, -f or a pipe.")
    statements = None if texts is None else script.statements_of(texts)
    # A prompt has the terminal for both, and draws on it while Spark starts.
    with engine_of(target, may_write=may_write, is_quiet=is_quiet, keeps_output=statements is not None) as engine:
        if statements is not None:
            script.run(engine, statements, output)
        else:
            from .prompt import Prompt

            Prompt(engine, output).run()
