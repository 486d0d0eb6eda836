"""The command's options, and what ends it."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from typer.testing import CliRunner

from alluvium.builds import command
from alluvium.cli import app
from alluvium.runtime import session


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--every", "5x"], "'5x'"),
        (["--builds", "0"], "equal to 1"),
        (["--", "--selekt", "x"], "--selekt"),
        (["--", "build"], "build"),
    ],
)
def test_what_is_not_understood_is_a_usage_error(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["run", *arguments])
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize("has_passed", [True, False])
def test_exit_code_is_that_of_the_last_build(monkeypatch: pytest.MonkeyPatch, has_passed: bool) -> None:
    given: list[Any] = []

    def run(*told: Any, **named: Any) -> bool:
        given.append((told, named))
        return has_passed

    monkeypatch.setattr(command, "run", run)
    done = CliRunner().invoke(app, ["run", "--every", "1m", "--builds", "2", "--json", "--", "--select", "a"])
    assert done.exit_code == (0 if has_passed else 1)
    assert given == [((["--select", "a"], 60, 2), {"is_json": True, "is_verbose": False})]


def context(stopped: Any, ended: int | None = None) -> Any:
    """A SparkContext whose JVM has ended with a code, or answers whether it was stopped."""

    def answer() -> bool:
        if isinstance(stopped, Exception):
            raise stopped
        return bool(stopped)

    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=answer))
    return SimpleNamespace(_gateway=SimpleNamespace(proc=SimpleNamespace(poll=lambda: ended)), _jsc=java)


@pytest.mark.parametrize(
    ("active", "has_ended"),
    [
        (None, False),
        (context(False), False),
        (context(True), True),
        (context(False, ended=-9), True),
        (context(Py4JNetworkError("gone")), True),
    ],
)
def test_session_that_can_do_nothing_has_ended(monkeypatch: pytest.MonkeyPatch, active: Any, has_ended: bool) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", active)
    assert session.has_ended() is has_ended


def test_other_commands_do_not_wait_for_dbt() -> None:
    code = "import sys, alluvium.cli; sys.exit('dbt.cli.main' in sys.modules or 'pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
