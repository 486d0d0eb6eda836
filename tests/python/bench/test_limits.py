"""The gate of `make bench-smoke`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks import __main__ as command
from benchmarks import limits, runner, scenarios
from benchmarks.project import REPOSITORY

from .test_report import result, two

FIRST = {"phase": "first load", "figure": "seconds", "at_most": 2.0}
SECOND = {"phase": "1 % scattered", "figure": "cpu_seconds", "at_most": 0.5}


def gate(monkeypatch: pytest.MonkeyPatch, folder: Path, measured: dict[str, Any], *allowed: dict[str, Any]) -> int:
    """What the command returns for a measured result."""
    monkeypatch.setattr(runner, "run", lambda _scenario, _folder: iter([{}, measured]))
    file = folder / "limits.yml"
    file.write_text(yaml.safe_dump({"scenario": "smoke", "limits": list(allowed)}), encoding="utf-8")
    return command.main(["gate", "--limits", str(file)])


def test_ratios_at_their_limits_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = result(alluvium=[two(20, 3)], merge_guarded=[two(10, 6)])
    assert gate(monkeypatch, tmp_path, measured, FIRST, SECOND) == 0
    assert capsys.readouterr() == (
        "first load, seconds: 2.00, at most 2.0\n1 % scattered, cpu_seconds: 0.50, at most 0.5\n",
        "",
    )


def test_a_ratio_above_its_limit_fails_and_says_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = result(alluvium=[two(20.5, 3.2)], merge_guarded=[two(10, 6)])
    assert gate(monkeypatch, tmp_path, measured, FIRST, SECOND) == 1
    assert capsys.readouterr().err == (
        "bench-smoke: first load: seconds are 2.05 times those of the script, limit 2.00\n"
        "bench-smoke: 1 % scattered: cpu_seconds are 0.53 times those of the script, limit 0.50\n"
    )


def test_a_limit_without_a_ratio_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = result(alluvium=[two(1, 5)], merge_guarded=[two(1, 0)])
    assert gate(monkeypatch, tmp_path, measured, FIRST, SECOND) == 1
    assert capsys.readouterr().err == (
        "bench-smoke: 1 % scattered: cpu_seconds have no ratio: the script's are zero or missing\n"
    )


def test_wrong_rows_and_failures_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = result(alluvium=[two(1, 1, wrong_rows=3)], merge_guarded=[two(10, 6)])
    measured["cases"][0]["systems"]["merge_guarded"]["rounds"][0]["failed"] = "no memory"
    assert gate(monkeypatch, tmp_path, measured, FIRST, SECOND) == 1
    assert capsys.readouterr().err == (
        "bench-smoke: merge_guarded: no memory\nbench-smoke: 1 % scattered: alluvium: 3 wrong rows\n"
    )


def test_a_limit_for_an_unknown_phase_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measured = result(alluvium=[two(1, 1)], merge_guarded=[two(1, 1)])
    with pytest.raises(ValueError, match="phase is 'second load'; allowed: first load, 1 % scattered"):
        gate(monkeypatch, tmp_path, measured, FIRST | {"phase": "second load"})


def test_committed_limits_are_for_the_run_of_ci() -> None:
    allowed = limits.read()
    scenario = scenarios.read()[allowed["scenario"]]
    assert set(scenario.systems) == {limits.OURS, limits.SCRIPT}
    assert {limit["phase"] for limit in allowed["limits"]} <= {
        scenarios.FIRST_LOAD,
        *(one.name for one in scenario.phases),
    }
    assert {limit["figure"] for limit in allowed["limits"]} <= {"seconds", "cpu_seconds"}
    assert "-m benchmarks gate $(BENCH_ARGS)" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert "make bench-smoke" in (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
