"""The command around a scaffold: what is written before it is said, and errors in a sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alluvium import AlluviumError, cli
from alluvium.inspection import inspect
from alluvium.scaffolding import plan

from .project import SOURCES, document, landed, scaffolded


def arguments(root: Path) -> list[str]:
    return ["scaffold", str(root / "landing"), "--source", "shop", "--project-dir", str(root / "project")]


def ended(root: Path, output: int) -> tuple[int, str]:
    """Status and standard error of the command with another standard output."""
    command = [sys.executable, "-m", "alluvium.cli", *arguments(root)]
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def test_closed_pipe(root: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert ended(root, writing) == (1, "")
    os.close(writing)
    assert len(document(root, SOURCES)["sources"][0]["tables"]) == 1, "it is written all the same"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_full_disk(root: Path) -> None:
    with Path("/dev/full").open("w") as full:
        status, said = ended(root, full.fileno())
    assert status == 1
    assert re.fullmatch(r"alluvium: .*No space left on device; --debug shows where\.\n", said)


def test_file_that_cannot_be_written(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "project" / "models").mkdir()
    (root / "project" / "models" / "silver").write_text("a file", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["alluvium", *arguments(root)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    printed = capsys.readouterr()
    assert (left.value.code, printed.out) == (1, "")
    assert re.match(r"alluvium: .* cannot be written \(.*\): mend that", printed.err)
    assert sorted(path.name for path in (root / "project").rglob("*") if path.is_file()) == [
        "dbt_project.yml",
        "silver",
    ]


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_error_that_nobody_has_thought_of(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: list[str]
) -> None:
    def slip(*_: object, **__: object) -> None:
        raise TypeError("'<' not supported\nbetween these")

    monkeypatch.setattr(cli, "plan", slip)
    monkeypatch.setattr("sys.argv", ["alluvium", *arguments(root), *debug])
    with pytest.raises(TypeError if debug else SystemExit) as left:
        cli.main()
    if isinstance(left.value, SystemExit):
        said = "an error of its own: TypeError: '<' not supported; run it again with --debug for the traceback."
        assert (left.value.code, capsys.readouterr().err) == (1, f"alluvium: {said}\n")


@pytest.mark.parametrize("command", ["inspect", "scaffold"])
def test_name_that_utf_8_cannot_write(root: Path, command: str) -> None:
    landed(root / "landing", "shop.public.half", {"id": 1, "a\ud800": "x"})
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "alluvium.cli",
            *([command, str(root / "landing")] if command == "inspect" else arguments(root)),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 1
    assert re.fullmatch(
        r"alluvium: the files have a name .*a\\ud800.*: mend it in the source, .* \(ReplaceField\)\.\n", done.stderr
    )
    assert [path.name for path in (root / "project").rglob("*") if path.is_file()] == ["dbt_project.yml"]


def test_mode_of_a_file_stays(root: Path) -> None:
    scaffolded(root)
    file = root / "project/models/silver/shop/slv_shop__orders_state.sql"
    file.chmod(0o640)
    scaffolded(root, deletes="hard")
    assert file.stat().st_mode & 0o777 == 0o640


def test_examples_stand_a_line_each() -> None:
    shown = CliRunner().invoke(cli.app, ["scaffold", "--help"], env={"COLUMNS": "120", "TERM": "dumb"}).output
    lines = [line.strip() for line in shown.splitlines()]
    assert "alluvium scaffold landing/shop --source shop" in lines
    assert "alluvium scaffold s3://bucket/topics --source erp --entities orders --entities customers --history" in lines


@pytest.mark.parametrize(
    ("source", "suggested"),
    [("", "say --source shop"), ("é", "say --source shop"), ("1 É", "say 't_1'"), ("Ab", "'ab'")],
)
def test_suggested_source(root: Path, source: str, suggested: str) -> None:
    with pytest.raises(AlluviumError, match=suggested):
        plan(inspect(str(root / "landing")), source, root / "project")
