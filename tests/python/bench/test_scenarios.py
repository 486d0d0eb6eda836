"""The scenarios, and what the runner does with a system that is wrong, slow or gone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks import measure, runner, scenarios, systems
from benchmarks.__main__ import _reduced, main, parse
from benchmarks.generator import FORMATS
from benchmarks.process import Cost, SystemFailedError, SystemProcess

ALL = scenarios.read()


def test_committed_scenarios_cover_all_systems_and_formats() -> None:
    assert {name for scenario in ALL.values() for name in scenario.systems} == set(systems.NAMES)
    assert {name for scenario in ALL.values() for name in scenario.formats} == set(FORMATS)
    assert {phase.shape.keys for scenario in ALL.values() for phase in scenario.phases} == {"uniform", "zipf", "recent"}
    assert max(phase.batches for scenario in ALL.values() for phase in scenario.phases) == 200


def test_a_fixed_batch_is_equally_large_at_each_size() -> None:
    changed = {
        phase.shape.changed
        for scenario in ALL.values()
        for phase in scenario.phases
        if phase.name == "10,000 recent keys"
    }
    assert changed == {10_000}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"systems": ["oracle"]}, "systems has oracle; allowed: alluvium"),
        ({"formats": ["xml"]}, "formats has xml; allowed: json"),
        ({"session": "tepid"}, "session is 'tepid'; allowed: warm, cold"),
        ({"speed": 1}, "unknown option speed"),
        ({"phases": [{"name": "p", "batches": 1, "kyes": "zipf"}]}, "unknown option kyes of the phase p"),
    ],
)
def test_unknown_options_are_errors(options: dict[str, Any], message: str) -> None:
    defaults = yaml.safe_load(scenarios.FILE.read_text(encoding="utf-8"))["defaults"]
    with pytest.raises(ValueError, match=message):
        scenarios.scenario("one", defaults | {"shows": "", "systems": ["merge"], "rows": 10} | options)


def test_options_of_the_command_reduce_a_scenario() -> None:
    arguments = ["run", "table_5m", "--rows", "1000", "--batches", "1", "--rounds", "2", "--systems", "merge"]
    small = _reduced(ALL["table_5m"], parse(arguments))
    assert (small.shape.rows, small.rounds, small.systems) == (1000, 2, ("merge",))
    assert [(phase.batches, phase.shape.rows) for phase in small.phases] == [(1, 1000)] * len(small.phases)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run smoke --rows 9", "--rows needs --results"),
        ("run smoke --rounds 0", "argument --rounds: invalid number from 1 value: '0'"),
        ("run smoke --formats xml", "argument --formats: invalid choice: 'xml'"),
        ("gate --limits nothing.yml", "there is no file nothing.yml"),
        ("report --results nothing", "nothing has no results"),
    ],
)
def test_wrong_options_are_refused_at_once(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run", None)
    with pytest.raises(SystemExit) as refused:
        main(arguments.split())
    assert message in f"{refused.value} {capsys.readouterr().err}"


def test_peak_and_processor_time_are_of_the_whole_tree() -> None:
    code = "x = bytearray(80_000_000)\nfor _ in range(20_000_000): pass\nprint(1, flush=True)\ninput()"
    import subprocess

    shell = subprocess.Popen(
        ["sh", "-c", f"{sys.executable} -c '{code}'; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert shell.stdout is not None
    assert shell.stdin is not None
    shell.stdout.readline()
    try:
        assert len(measure.process_tree(shell.pid)) == 2
        assert measure.peak_memory(shell.pid) > 80_000_000
        assert measure.cpu_seconds(shell.pid) > 0.1
    finally:
        shell.communicate(b"\n")


def test_written_bytes_are_of_new_and_changed_files(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"12345")
    (tmp_path / "grown").write_bytes(b"1")
    before = measure.files(tmp_path)
    (tmp_path / "grown").write_bytes(b"123")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "new").write_bytes(b"1234567")
    assert measure.written(before, measure.files(tmp_path)) == 10


class StubProcess:
    """In place of `SystemProcess`: answers without a system."""

    digests: tuple[tuple[int, int], ...] = ()
    error = ""

    wrong_rows = SystemProcess.wrong_rows

    def __init__(self, name: str, home: Path, *_: Any, **__: Any) -> None:
        self.home, self.sent = home, list[str]()

    def send(self, command: str, *arguments: str, entity: str = "accounts") -> dict[str, Any]:
        self.sent.append(command)
        if command == "row_hashes":
            Path(arguments[0]).parent.mkdir(parents=True, exist_ok=True)
            Path(arguments[0]).write_text("[1, 5]\n", encoding="utf-8")
        return {"value": [1, 5]} if command == "digest" else {}

    def cost(self, command: str, entity: str = "accounts") -> Any:
        if self.error and command == "apply":
            raise SystemFailedError(self.error)
        self.send(command)
        return Cost(1.5, 2.5, 10, 20, {})

    def end(self) -> float:
        return 3.0


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **options: Any) -> dict[str, Any]:
    monkeypatch.setattr(runner, "SystemProcess", StubProcess)
    defaults = yaml.safe_load(scenarios.FILE.read_text(encoding="utf-8"))["defaults"]
    phases = [{"name": "half", "batches": 2, "churn": 0.5}]
    options = {"shows": "", "systems": ["merge", "decode"], "rows": 10, "rounds": 1, "phases": phases} | options
    *_, found = runner.run(scenarios.scenario("one", defaults | options), tmp_path)
    return found


def test_a_wrong_table_has_its_number_of_wrong_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = run(monkeypatch, tmp_path)["cases"][0]
    batches = case["systems"]["merge"]["rounds"][0]["batches"]
    # One row with a wrong hash, and nine that are missing.
    assert batches[0]["wrong_rows"] == 10
    assert all("wrong_rows" not in batch for batch in case["systems"]["decode"]["rounds"][0]["batches"])


def test_compaction_is_the_writers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = run(monkeypatch, tmp_path, maintain_every=2)["cases"][0]
    seconds = [batch["seconds"] for batch in case["systems"]["merge"]["rounds"][0]["batches"]]
    assert seconds == [1.5, 1.5, 3.0]


def test_a_system_that_fails_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(StubProcess, "error", "apply took more than 5 s")
    case = run(monkeypatch, tmp_path)["cases"][0]
    assert case["systems"]["merge"]["rounds"] == [{"batches": [], "failed": "apply took more than 5 s"}]


def test_systems_are_run_in_turns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, tmp_path, rounds=2, session="cold")
    order = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " s cpu" in line]
    there, back = ["merge", "decode"], ["decode", "merge"]
    assert order == [*there, *back, *there, *back, *there, *back]
