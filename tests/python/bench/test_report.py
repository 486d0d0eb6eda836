"""The page of the benchmark: generated, equal to what is committed, and honest about lost and wrong cases."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report, summary
from benchmarks.process import BENCH_PYTHON
from benchmarks.project import REPOSITORY
from benchmarks.summary import FIRST_LOAD, Plot, Range, Results, percentile, plots, slope, spread

FOLDER = REPOSITORY / "benchmarks" / "results"


def batch(number: int, phase: str, seconds: float, **more: Any) -> dict[str, Any]:
    figures = {"batch": number, "phase": phase, "events": 100, "changed": 50, "seconds": seconds, "wrong_rows": 0}
    return figures | {"cpu_seconds": 2 * seconds, "peak_memory": 10**9, "bytes_written": 5000, "models": {}} | more


def result(**systems: list[list[dict[str, Any]]]) -> dict[str, Any]:
    phases = [{"name": "1 % scattered", "batches": 1}]
    scenario = {"shows": "a title", "shape": {"rows": 1_000_000}, "systems": list(systems), "phases": phases}
    landed = [
        {"phase": phase, "files": 1, "events": 100, "size": 10**6, "changed": 50}
        for phase in (FIRST_LOAD, "1 % scattered")
    ]
    return {
        "scenario": scenario | {"session": "warm", "memory": "4g"},
        "date": "2026-01-01",
        "commit": "abc",
        "machine": {"cores": 2, "memory_gib": 8.0, "processor": "x86_64", "system": "Linux", "python": "3.11"},
        "versions": {"pyspark": "3.5.7"},
        "not_run": {"Spark AUTO CDC": "a reason"},
        "cases": [
            {
                "format": "json",
                "landed": landed,
                "systems": {
                    name: {"rounds": [{"batches": batches, "failed": ""} for batches in rounds]}
                    for name, rounds in systems.items()
                },
            }
        ],
    }


def two(first: float, second: float, **more: Any) -> list[dict[str, Any]]:
    return [batch(0, FIRST_LOAD, first), batch(1, "1 % scattered", second, **more)]


MEASURED = result(
    alluvium=[two(20, 3), two(24, 4), two(22, 9)],
    merge_guarded=[two(10, 6), two(10, 5), two(11, 6)],
    merge=[two(9, 1, wrong_rows=7)] * 3,
)
BEFORE = json.loads((FOLDER / "before.json").read_text(encoding="utf-8"))


def test_page_is_what_the_committed_results_give() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.text(Results.read(FOLDER)), "run `make performance`"


def test_plots_are_those_of_the_committed_results() -> None:
    folder = report.PAGE.parent / report.PLOTS
    expected = {f"{plot.name}.svg": plot.digest for plot in plots(Results.read(FOLDER))}
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    assert sorted(found) == sorted(expected), "run `make performance`"
    assert [name for name, digest in expected.items() if digest not in found[name]] == [], "run `make performance`"


def test_results_name_no_machine() -> None:
    for path in FOLDER.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("/home/", "/tmp/", "/work/", "/root/", "hostname")), path.name


def test_a_ratio_is_of_each_round() -> None:
    found = Results({"table_1m": MEASURED}, BEFORE).ratio("table_1m", "alluvium", "merge_guarded", FIRST_LOAD)
    assert found == Range(2.0, 2.0, 2.4)


def test_targets_are_judged() -> None:
    page = report.text(Results({"table_1m": MEASURED}, BEFORE))
    line = next(line for line in page.splitlines() if line.startswith("| First load, 1 M, against the script |"))
    assert line == "| First load, 1 M, against the script | at most 1.3 | 7.35 | 2.00 (2.00\N{EN DASH}2.40) | **no** |"
    line = next(line for line in page.splitlines() if line.startswith("| 1 % scattered keys of 1 M,"))
    assert line.endswith("| at most 1 | 8.09 | 0.80 (0.50\N{EN DASH}1.50) | yes |")
    line = next(line for line in page.splitlines() if line.startswith("| First load, 5 M, against the script |"))
    assert line.endswith("| 5.63* | not measured |  |")


def test_a_wrong_system_has_rows_instead_of_a_time() -> None:
    results = Results({"table_1m": MEASURED}, BEFORE)
    page = report.text(results)
    assert "| merge | **wrong: 7 rows** |  |  |" in page
    assert results.ratio("table_1m", "alluvium", "merge", "1 % scattered") is None
    bars = next(plot for plot in plots(results) if plot.name == "table_1m")
    assert bars.series["merge"] == [9, None]


def test_losing_cases_are_listed_and_wrong_systems_do_not_win() -> None:
    page = report.text(Results({"table_1m": MEASURED}, BEFORE))
    assert "| `table_1m` | json | first load | merge | 2.44 |" in page
    assert "| `table_1m` | json | 1 % scattered |" not in page


def test_what_failed_and_what_was_not_run_is_told() -> None:
    failed = copy.deepcopy(MEASURED)
    failed["cases"][0]["systems"]["merge"]["rounds"][0]["failed"] = "apply took more than 5 s"
    page = report.text(Results({"table_1m": failed}, BEFORE))
    assert "- **Spark AUTO CDC**: a reason" in page
    assert "- **merge** in `table_1m`, json: apply took more than 5 s" in page


def test_a_long_phase_has_percentiles_and_a_slope() -> None:
    long = result(alluvium=[[batch(0, FIRST_LOAD, 5), *(batch(n, "1 % scattered", 1 + n / 100) for n in range(1, 41))]])
    long["scenario"]["phases"][0]["batches"] = 40
    long["cases"][0]["landed"] += [long["cases"][0]["landed"][1]] * 39
    results = Results({"long_run": long}, BEFORE)
    (line,) = (line for line in report.text(results).splitlines() if "| 1.20 | 1.38 |" in line)
    assert line.endswith("| +83% |")
    assert [plot.kind for plot in plots(results) if plot.name == "long_run_batches"] == ["lines"]


def test_statistics() -> None:
    assert spread([]) is None
    assert spread([3, 1, 2]) == Range(2, 1, 3)
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7], 0.5) == 7
    assert slope([1, 1, 1]) == 0
    assert slope([1, 2, 3]) == pytest.approx(50)


def test_each_target_names_scenarios_that_are_there() -> None:
    from benchmarks import scenarios

    known = scenarios.read()
    for target in summary.TARGETS:
        if isinstance(target.after, summary.Ratio):
            ratio = target.after
            scenario = known[ratio.scenario]
            assert {ratio.system, ratio.other} <= set(scenario.systems), target.what
            assert ratio.format_name in scenario.formats, target.what
            assert ratio.phase in (FIRST_LOAD, *(phase.name for phase in scenario.phases)), target.what


@pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="needs `make setup-bench`")
def test_equal_data_gives_equal_plots(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "table_1m.json").write_text(json.dumps(MEASURED), encoding="utf-8")
    (results / "before.json").write_text(json.dumps(BEFORE), encoding="utf-8")
    drawn = []
    for name in ("first", "second"):
        command = [str(BENCH_PYTHON), "-m", "benchmarks.plots", str(results), str(tmp_path / name)]
        subprocess.run(command, cwd=REPOSITORY, check=True)
        drawn.append({path.name: path.read_text(encoding="utf-8") for path in (tmp_path / name).iterdir()})
    assert drawn[0] == drawn[1]
    assert sorted(drawn[0]) == ["before_after.svg", "table_1m.svg"]
    own: list[Plot] = plots(Results.read(results))
    assert all(plot.digest in drawn[0][f"{plot.name}.svg"] for plot in own)
