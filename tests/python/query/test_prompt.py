"""The prompt, driven by what is typed; Spark is played by what `Engine` promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from alluvium.query import Format, QueryError
from alluvium.query import prompt as prompt_module
from alluvium.query.engine import Engine, Kind
from alluvium.query.output import Output
from alluvium.query.prompt import Prompt, history_file

ENTER, CONTROL_C, CONTROL_D = "\r", "\x03", "\x04"


class Played:
    """Notes the statements; `drop` is refused, `wrong` is an error, `slow` is interrupted."""

    schema = "silver"
    has_schema = True
    is_ready = True

    def __init__(self) -> None:
        self.statements: list[str] = []

    def require_allowed(self, statement: str) -> Kind:
        if "drop" in statement:
            raise QueryError("Not run, because it is no query.")
        return Kind.QUERY

    def run(self, statement: str, show: Callable[[Any], None], limit: int | None) -> None:
        self.statements.append(statement)
        if "slow" in statement:
            raise KeyboardInterrupt
        if "wrong" in statement:
            raise QueryError("[SOME_ERROR] It is wrong.")

    def rows(self, statement: str) -> list[Any]:
        """Of what the prompt asks to complete a word, while somebody types."""
        raise QueryError("[SOME_ERROR] There is nothing.")


@pytest.fixture
def keyboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PipeInput]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(prompt_module, "create_output", lambda **_: DummyOutput())
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


def statements(keyboard: PipeInput, *keys: str) -> list[str]:
    """What the prompt runs, once the keys are typed."""
    engine = Played()
    keyboard.send_text("".join(keys))
    Prompt(cast("Engine", engine), Output(Format.table)).run()
    return engine.statements


def test_statement_ends_with_its_semicolon(keyboard: PipeInput) -> None:
    typed = ["select ';", ENTER, "'", ENTER, "+ 1; select 2;", ENTER, CONTROL_D]
    assert statements(keyboard, *typed) == ["select ';\n'\n+ 1", "select 2"]


def test_control_c_gives_the_input_up(keyboard: PipeInput) -> None:
    assert statements(keyboard, "select 1", CONTROL_C, "select 2;", ENTER, CONTROL_D) == ["select 2"]


def test_prompt_goes_on_after_errors_and_what_was_cancelled(
    keyboard: PipeInput, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["drop table x;", ENTER, "wrong;", ENTER, "slow; never;", ENTER, "\\x", ENTER, "last;", ENTER, "\\q", ENTER]
    assert statements(keyboard, *typed) == ["wrong", "slow", "last"]
    said = capsys.readouterr()
    assert said.out == ""
    parts = (
        "Not run, because it is no query.",
        "[SOME_ERROR] It is wrong.",
        "Cancelled.",
        "There is no \\x: \\? lists",
    )
    positions = [said.err.index(part) for part in parts]
    assert positions == sorted(positions)


def test_columns_of_a_table(keyboard: PipeInput) -> None:
    assert statements(keyboard, "\\d silver.orders", ENTER, CONTROL_D) == ["describe table silver.orders"]


def test_help(keyboard: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    assert statements(keyboard, "\\?", ENTER, CONTROL_D) == []
    assert "\\d NAME" in capsys.readouterr().err


def test_history_is_kept(keyboard: PipeInput, tmp_path: Path) -> None:
    statements(keyboard, "select 1;", ENTER, CONTROL_D)
    assert "+select 1;" in (tmp_path / "alluvium" / "history").read_text()
    up = "\x1b[A"
    assert statements(keyboard, up, ENTER, CONTROL_D) == ["select 1"]


def test_place_of_the_history(tmp_path: Path) -> None:
    assert history_file({"XDG_STATE_HOME": "/state"}) == Path("/state/alluvium/history")
    assert history_file({}) == Path.home() / ".local" / "state" / "alluvium" / "history"
