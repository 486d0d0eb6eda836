"""The gate of `make bench-smoke`."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from benchmarks import limits, smoke
from benchmarks.project import REPOSITORY

MAKEFILE = REPOSITORY / "Makefile"
CI = REPOSITORY / ".github" / "workflows" / "ci.yml"

ALLOWED: dict[str, Any] = {
    "rows": 1000,
    "session": "warm",
    "limits": [
        {"step": "first load", "figure": "seconds", "against": "first load", "at_most": 2.0},
        {"step": "nothing new", "figure": "cpu_seconds", "against": "first load", "at_most": 0.5},
    ],
}


def step(name: str, alluvium: float, plain: float) -> dict[str, Any]:
    sides = {"alluvium": alluvium, "plain": plain}
    return {"step": name} | {
        side: {"seconds": seconds, "cpu_seconds": seconds / 2, "wrong_rows": 0} for side, seconds in sides.items()
    }


REPORT: dict[str, Any] = {
    "rows": 1000,
    "session": "warm",
    "steps": [step("first load", 20, 10), step("nothing new", 5, 0)],
}


def test_ratios_at_their_limits_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke.judge(REPORT, ALLOWED) == 0
    assert capsys.readouterr() == ("", "")


def test_a_ratio_above_its_limit_fails_and_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    slow = REPORT | {"steps": [step("first load", 20.5, 10), step("nothing new", 5.2, 0)]}
    assert smoke.judge(slow, ALLOWED) == 1
    assert capsys.readouterr().err == (
        "bench-smoke: first load: seconds 20.5, the script's 10.0: ratio 2.05, limit 2.00\n"
        "bench-smoke: nothing new: cpu_seconds 2.6, the script's of first load 5.0: ratio 0.52, limit 0.50\n"
    )


@pytest.mark.parametrize("other", [{"rows": 999}, {"session": "cold"}])
def test_limits_hold_for_their_rows_and_session(other: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    slow = REPORT | {"steps": [step("first load", 99, 1), step("nothing new", 5, 0)]} | other
    assert smoke.judge(slow, ALLOWED) == 0
    assert capsys.readouterr().out == "Limits are for 1,000 rows in a warm session: not checked.\n"


def test_wrong_rows_fail_whatever_the_number_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = copy.deepcopy(REPORT) | {"rows": 5}
    wrong["steps"][0]["alluvium"]["wrong_rows"] = 3
    assert smoke.judge(wrong, ALLOWED) == 1
    assert capsys.readouterr().err == "bench-smoke: first load: alluvium: 3 wrong rows\n"


def test_a_limit_for_an_unknown_step_is_an_error() -> None:
    with pytest.raises(ValueError, match="no step second load; allowed: first load, nothing new"):
        limits.exceeded(REPORT, {"limits": [ALLOWED["limits"][0] | {"step": "second load"}]})


def test_committed_limits_are_for_the_run_of_ci() -> None:
    committed = limits.read()
    (command,) = re.findall(r"-m benchmarks\.smoke (.*) \$\(BENCH_ARGS\)", MAKEFILE.read_text(encoding="utf-8"))
    options = smoke.parse(command.split())
    assert (committed["rows"], committed["session"]) == (options.rows, options.session)
    assert "make bench-smoke" in CI.read_text(encoding="utf-8")
    assert {limit["step"] for limit in committed["limits"]} <= {"first load", "1 % changes", "nothing new"}
    assert {limit["figure"] for limit in committed["limits"]} <= {"seconds", "cpu_seconds"}


def test_figures_of_rounds_are_medians() -> None:
    rounds = [
        {"seconds": s, "cpu_seconds": s, "process_seconds": s, "models": {"m": s}, "wrong_rows": w}
        for s, w in ((1.0, 2), (9.0, 0), (2.0, 0))
    ]
    found = smoke.typical(rounds)
    assert (found["seconds"], found["models"], found["wrong_rows"]) == (2.0, {"m": 2.0}, 2)
