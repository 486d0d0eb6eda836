"""The prompt of ``alluvium sql``: statements are typed in, on as many lines as they need, and end with a semicolon."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import create_output
from pygments.lexers.sql import SqlLexer
from rich.console import Console
from rich.text import Text

from alluvium import AlluviumError

from . import QueryError
from .engine import Kind
from .names import Names
from .output import Output, say
from .script import missing_schema
from .statements import split
from .table import Column, lay_out, shown

if TYPE_CHECKING:
    from .engine import Engine

HELP = """\
select ...;    run a statement; it ends with a semicolon, on as many lines as you like
\\d             the tables
\\d NAME        the columns of a table
\\?             this list
\\q             end; Ctrl-D does, too
Ctrl-C         give up the line, or the query that runs
Tab            complete keywords, schemas, tables and columns"""


def history_file(environ: Mapping[str, str] | None = None) -> Path:
    """``$XDG_STATE_HOME/alluvium/history``, by default below ``~/.local/state``."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "alluvium" / "history"


class Prompt:
    """Reads statements until the end, and shows their results.

    Args:
        engine: runs them; it may still be starting.
        output: shows them.
    """

    def __init__(self, engine: Engine, output: Output) -> None:
        self._engine = engine
        self._output = output
        self._names = Names(engine)
        history = history_file()
        history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._session: PromptSession[str] = PromptSession(
            message=lambda: f"{engine.schema}> ",
            prompt_continuation=lambda width, line, wrapped: " " * (width - 2) + "> ",
            multiline=True,
            key_bindings=_keys(),
            lexer=PygmentsLexer(SqlLexer),
            history=FileHistory(str(history)),
            completer=ThreadedCompleter(_NameCompleter(self._names)),
            output=create_output(always_prefer_tty=True),
        )

    def run(self) -> None:
        """Read and run until the end. An error is shown, and the prompt goes on."""
        say("Statements end with a semicolon; \\? lists what else there is.")
        said_schema = False
        while True:
            try:
                text = self._session.prompt().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text == "\\q":
                return
            if not text:
                continue
            try:
                self._wait_for_spark()
                if not self._engine.has_schema and not said_schema:
                    say(missing_schema(self._engine))
                    said_schema = True
                self._answer(text)
            except KeyboardInterrupt:
                say("Cancelled.")
            except QueryError as error:
                Console(stderr=True, soft_wrap=True).print(Text(str(error), style="red"))

    def _wait_for_spark(self) -> None:
        if not self._engine.is_ready:
            with Console(stderr=True).status("Spark is starting"):
                self._engine.wait()

    def _answer(self, text: str) -> None:
        command, _, argument = text.rstrip(";").partition(" ")
        if command == "\\?":
            say(HELP)
        elif command == "\\d" and argument:
            self._run(f"describe table {argument.strip()}")
        elif command == "\\d":
            self._list_tables()
        elif command.startswith("\\"):
            raise QueryError(f"There is no {command}: \\? lists what there is.")
        else:
            for statement in split(text).all:
                self._run(statement)

    def _run(self, statement: str) -> None:
        kind = self._engine.require_allowed(statement)
        begun = time.monotonic()
        self._engine.run(statement, self._output.show, self._output.rows)
        if kind is not Kind.QUERY:
            self._names.forget()
        say(f"{time.monotonic() - begun:.1f} s")

    def _list_tables(self) -> None:
        names = self._names.all_tables()
        columns = [Column("schema"), Column("table")]
        self._output.write_table(lay_out(columns, [[shown(name) for name in pair] for pair in names]))


class _NameCompleter(Completer):
    def __init__(self, names: Names) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        try:
            begin, found = self._names.completions(document.text_before_cursor)
        except AlluviumError:  # shown when the statement runs
            return
        if begin or complete_event.completion_requested or document.char_before_cursor == ".":
            for name in found:
                yield Completion(name, start_position=-len(begin))


def is_complete(text: str) -> bool:
    """Whether Enter ends the input: nothing, a backslash command, or statements of which the last has its semicolon."""
    stripped = text.strip()
    if not stripped or stripped.startswith("\\"):
        return True
    cut = split(text)
    return bool(cut.statements) and not cut.rest and not cut.is_open


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys
