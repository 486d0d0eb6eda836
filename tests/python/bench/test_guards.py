"""What `make guards` takes out of a change log's query, and what the page says of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.guards import GUARDS, WITHOUT_CONTAINERS, replaced
from benchmarks.project import REPOSITORY
from benchmarks.summary import ALL_GUARDS, SCRIPT, Results


def test_each_guard_is_a_macro_that_is_called(tmp_path: Path) -> None:
    macros = tmp_path / "macros"
    shutil.copytree(REPOSITORY / "macros", macros)
    before = {path: path.read_text("utf-8") for path in macros.rglob("*.sql")}
    text = "".join(before.values())
    for returns in (WITHOUT_CONTAINERS, *GUARDS.values()):
        replaced(macros, returns)
        for name, result in returns.items():
            assert f"alluvium.{name}(" in text
            changed = [path for path, sql in before.items() if path.read_text("utf-8") != sql]
            assert any(f'return("{result}")' in path.read_text("utf-8") for path in changed)


def test_macro_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="guards: 0 macros are named _gone"):
        replaced(tmp_path, {"_gone": "null"})


MACHINE = {"cores": 2, "processor": "x", "memory_gib": 3.5, "system": "s", "python": "3"}


def test_page_has_the_most_expensive_guard_first() -> None:
    costs = {"cheap": 2.9, ALL_GUARDS: 3.0, SCRIPT: 1.0, "dear": 2.0}
    queries = {name: {"cpu_seconds": [cost, cost, 9.0], "seconds": [cost]} for name, cost in costs.items()}
    results = Results({}, {}, {"events": 100_000, "commit": "c", "machine": MACHINE, "queries": queries})
    assert [row[0] for row in results.guard_costs()] == [ALL_GUARDS, "dear", "cheap", SCRIPT]
    page = report.text(results)
    assert "| without dear | 20.0 | 10.0 |" in page
    assert "medians of 3 rounds over 100,000 events, commit c, 2 cores (x), 3.5 GiB, s, Python 3. " in page
    assert "takes 30.0 microseconds of processor time to decode one, the script 10.0. " in page
    assert "## What each guard costs" not in report.text(Results({}, {}))


def test_page_says_where_the_seconds_go() -> None:
    def stage(node: str, verb: str, seconds: float, in_jobs: float) -> dict[str, Any]:
        return {"node": node, "verb": verb, "seconds": seconds, "job_seconds": in_jobs}

    first = [stage("start and parsing", "", 10, 0), stage("state", "merge into", 89, 60), stage("state", "set a", 1, 0)]
    steps = {"first load": first, "nothing new": [stage("start and parsing", "", 9, 0)]}
    profile = {"rows": 1000, "commit": "c", "machine": MACHINE, "local": steps, "thrift": steps}
    lines = report.text(Results({}, {}, profile=profile)).splitlines()
    assert lines.count("| part | first load | nothing new |") == 2
    assert "| start and parsing | 10.0 (0.00) | 9.00 (0.00) |" in lines
    assert "| state: merge into | 89.0 (60.0) | 0.00 (0.00) |" in lines
    assert "| whole build | 100 | 9.00 |" in lines
    assert not any("set a" in line for line in lines)
    one = report.text(Results({}, {}, profile=profile | {"thrift": None})).splitlines()
    assert one.count("| part | first load | nothing new |") == 1
