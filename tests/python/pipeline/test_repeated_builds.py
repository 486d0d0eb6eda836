"""`alluvium run`: three builds in one session, as they are. What it does without Spark is in tests/python/builds."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from dbt.cli import requires

from alluvium.builds import command
from alluvium.builds.outcome import Watch
from alluvium.builds.schedule import Signals

from .events import lines, postgresql
from .project import Feed, Project

FEED = Feed("repeated", {"id": "int", "city": "string"}, models=("log", "state", "living"), built=False, slow=True)
FEEDS = [FEED]


@pytest.mark.slow
def test_three_builds_in_one_session(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """First load; a new file; nothing new, and a signal in the middle of it."""
    applications: list[str] = []
    rows: list[list[Any]] = []
    parsed: list[bool] = []
    files = [
        {"1.json": lines(postgresql("c", 1, {"id": 1, "city": "Bonn"}))},
        {"2.json": lines(postgresql("u", 2, {"id": 1, "city": "Trier"}), postgresql("c", 3, {"id": 2, "city": "Ulm"}))},
    ]
    project.land(FEED, files[0])

    def wait(signals: Signals, _seconds: float) -> bool:
        applications.append(project.spark.sparkContext.applicationId)
        rows.append(current())
        if len(rows) == 1:
            project.land(FEED, files[1])
        return signals.were_received

    def current() -> list[Any]:
        project._read.clear()
        return sorted((row["id"], row["city"]) for row in project.current_rows(FEED.name))

    parse = requires.parse_manifest  # type: ignore[attr-defined]  # dbt imports the name from its parser
    note = Watch.note

    def noted(watch: Watch, event: Any) -> None:
        if len(rows) == 2 and event.info.name == "ConcurrencyLine":  # once in a build
            os.kill(os.getpid(), signal.SIGINT)
        note(watch, event)

    def parse_counted(*given: Any, **named: Any) -> Any:
        parsed.append(True)
        return parse(*given, **named)

    monkeypatch.setattr(Signals, "wait", wait)
    monkeypatch.setattr(Watch, "note", noted)
    monkeypatch.setattr(requires, "parse_manifest", parse_counted)
    place = ("--project-dir", str(project.folder), "--profiles-dir", str(project.folder), "--vars", project.variables)
    before = signal.getsignal(signal.SIGINT)
    with project._settings_of_a_run():
        assert command.run([*place, "--select", *FEED.nodes.values()], 0)
    assert signal.getsignal(signal.SIGINT) is before

    said = capfd.readouterr()
    assert rows == [[(1, "Bonn")], [(1, "Trier"), (2, "Ulm")]]
    assert current() == rows[-1]
    assert set(applications) == {project.spark.sparkContext.applicationId}
    assert len(parsed) == 1
    figures = [
        line.partition(": ")[2].partition(", 0 failed")[0] for line in said.out.splitlines() if "  build " in line
    ]
    assert figures == ["2 changed, 1 unchanged", "2 changed, 1 unchanged", "0 changed, 3 unchanged"]
    assert said.err.count("SIGINT: the running build is completed first") == 1
