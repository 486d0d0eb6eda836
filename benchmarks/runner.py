"""Runs a scenario: every batch through all systems in turns, each table compared with the oracle after each batch."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import datetime, timezone
from importlib import metadata
from os import cpu_count
from pathlib import Path
from typing import Any

from alluvium.runtime import jars
from benchmarks import systems
from benchmarks.generator import ENTITY, Landed, Shape, Stream
from benchmarks.oracle import Digest, Oracle
from benchmarks.process import BENCH_PYTHON, WARM_UP, SystemFailedError, SystemProcess
from benchmarks.project import REPOSITORY
from benchmarks.scenarios import FIRST_LOAD, Phase, Scenario

Figures = dict[str, Any]
WARM_UP_ROWS = 20_000
WARM_UP_BATCHES = 2


class SystemRun:
    """One system in one round: its process, and the figures of its batches.

    Args:
        name: of the system.
        scenario: that is run.
        shape: of the first load.
        home: folder for what it writes.
        location: folder that the files land in.
    """

    def __init__(self, name: str, scenario: Scenario, shape: Shape, home: Path, location: Path) -> None:
        self.name, self.scenario, self.home = name, scenario, home
        self.batches: list[Figures] = []
        self.failed = ""
        # 50 rows of a wide table are as many values as those of a narrow one.
        rows = max(50, WARM_UP_ROWS // max(1, shape.columns // 5)) if scenario.session == "warm" else 0
        warm = replace(shape, rows=max(1, rows), churn=0.01, lines_per_file=max(shape.lines_per_file, WARM_UP_ROWS))
        self._warm_up = Stream(warm, home / "warm_up_landing", WARM_UP)
        self._is_warm = not rows
        self._tables = {ENTITY: (location, shape), WARM_UP: (self._warm_up.folder, self._warm_up.shape)}
        self._process: SystemProcess | None = None

    def begin(self) -> None:
        """Starts the process, and builds another table if the session should be warm."""
        started = time.monotonic()
        self._process = SystemProcess(
            self.name, self.home, self._tables, self.scenario.memory, timeout=self.scenario.timeout
        )
        self._process.send("start")
        if not self._is_warm:
            self._is_warm = True
            print(f"  {self.name} warms up on another table: some minutes", flush=True)
            self._process.send("prepare", entity=WARM_UP)
            for _ in range(1 + WARM_UP_BATCHES):
                self._warm_up.land()
                self._process.send("apply", entity=WARM_UP)
            self._process.send("read", entity=WARM_UP)
        self._process.send("prepare")
        print(f"  {self.name} started in {time.monotonic() - started:.0f} s", flush=True)

    def end(self) -> None:
        """Ends the process."""
        if self._process:
            self._process.end()
            self._process = None

    def apply(self, number: int, phase: str, landed: Landed, changed: int, oracle: Oracle) -> None:
        """One batch: applies, compacts if it is time, compares, reads if it is time.

        Args:
            number: of the batch; 0 is the first load.
            phase: its name.
            landed: what landed.
            changed: rows that the batch changes.
            oracle: for the table after the batch.
        """
        if self.failed:
            return
        try:
            if self._process is None:
                self.begin()
            assert self._process is not None
            cost = self._process.cost("apply")
            figures = {"batch": number, "phase": phase, "events": landed.events, "changed": changed, **asdict(cost)}
            figures |= figures.pop("answer")
            if self._is_due(number, self.scenario.maintain_every):
                maintained = self._process.cost("maintain")
                figures["maintenance_seconds"] = maintained.seconds
                for key in ("seconds", "cpu_seconds", "bytes_written"):
                    figures[key] += getattr(maintained, key)
            if self.name not in systems.WITHOUT_CURRENT_ROWS:
                found = Digest(*self._process.send("digest")["value"])
                figures["wrong_rows"] = self._process.wrong_rows(oracle, found)
                if self._is_due(number, self.scenario.read_every) or not number:
                    figures["read_seconds"] = self._process.cost("read").seconds
            self.batches.append(figures)
            if self.scenario.session == "cold":
                figures["process_seconds"] = self._process.end()
                self._process = None
        except SystemFailedError as error:
            self.failed = str(error)
            print(f"  {error}", flush=True)
            self.end()

    @staticmethod
    def _is_due(number: int, every: int) -> bool:
        return bool(every and number and number % every == 0)


def run(scenario: Scenario, folder: Path) -> Iterator[Figures]:
    """Runs all cases and rounds; yields the result so far after each round.

    Args:
        scenario: to run.
        folder: for landed files and tables; each round's go when it has ended.
    """
    result: Figures = {"scenario": as_data(scenario), **environment(), "cases": []}
    for name in scenario.formats:
        case: Figures = {"format": name, "landed": [], "systems": {one: {"rounds": []} for one in scenario.systems}}
        result["cases"].append(case)
        for number in range(scenario.rounds):
            case["landed"], rounds = run_round(scenario, name, folder, is_reversed=number % 2 == 1)
            for one, figures in rounds.items():
                case["systems"][one]["rounds"].append(figures)
            yield result


def run_round(
    scenario: Scenario, format_name: str, folder: Path, *, is_reversed: bool
) -> tuple[list[Figures], dict[str, Figures]]:
    """One repetition of one case; returns what landed, and the figures by system."""
    shape = scenario.case(format_name)
    work = folder / "round"
    shutil.rmtree(work, ignore_errors=True)
    stream = Stream(shape, work / "landing" / "topics" / "bench")
    order = list(reversed(scenario.systems)) if is_reversed else list(scenario.systems)
    own = [
        SystemRun(name, scenario, shape, work / name, stream.folder)
        for name in order
        if format_name not in systems.UNREADABLE.get(name, ())
    ]
    batches = [Phase(FIRST_LOAD, 1, shape), *scenario.batches(format_name)]
    landed = []
    with ExitStack() as stack:
        for own_run in own:
            stack.callback(own_run.end)
        started = time.monotonic()
        oracle = Oracle(shape)
        for number, phase in enumerate(batches):
            begun = time.monotonic()
            lands = stream.land(phase.shape)
            changed = oracle.apply(stream.events) if number else shape.rows
            landed.append({"phase": phase.name, **asdict(lands), "changed": changed})
            print(
                f"{scenario.name} {format_name}, batch {number} of {len(batches) - 1} ({phase.name}): {lands.events:,} "
                f"events, {lands.size / 1e6:.1f} MB, {time.monotonic() - begun:.0f} s to make",
                flush=True,
            )
            # A B, then B A.
            for own_run in own if number % 2 == 0 else reversed(own):
                own_run.apply(number, phase.name, lands, changed, oracle)
                if own_run.batches and not own_run.failed:
                    print(f"  {line(own_run)}", flush=True)
        print(f"{scenario.name} {format_name}: {time.monotonic() - started:.0f} s", flush=True)
    shutil.rmtree(work, ignore_errors=True)
    return landed, {one.name: {"batches": one.batches, "failed": one.failed} for one in own}


def line(own_run: SystemRun) -> str:
    """The figures of the latest batch."""
    last = own_run.batches[-1]
    wrong = f"  {last['wrong_rows']:,} wrong rows" if last.get("wrong_rows") else ""
    return (
        f"{own_run.name:<18}{last['seconds']:>8.2f} s{last['cpu_seconds']:>8.1f} s cpu"
        f"{last['peak_memory'] / 1e9:>7.2f} GB{last['bytes_written'] / 1e6:>10.1f} MB written{wrong}"
    )


def as_data(scenario: Scenario) -> Figures:
    """A scenario as the result has it."""
    found: Figures = json.loads(json.dumps(asdict(scenario)))
    return found


def environment() -> Figures:
    """What was measured, where and when; without names of hosts and paths."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "not_run": systems.NOT_RUN,
    }


def commit() -> str:
    """The commit that is measured, with ``+`` where files differ from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip()


def machine() -> Figures:
    """Cores, memory in GiB, operating system and Python."""
    memory = 0.0
    for text in (
        Path("/proc/meminfo").read_text(encoding="utf-8").splitlines() if Path("/proc/meminfo").exists() else ()
    ):
        if text.startswith("MemTotal:"):
            memory = round(int(text.split()[1]) / 2**20, 1)
    return {
        "cores": cpu_count(),
        "memory_gib": memory,
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Versions of what is measured."""
    found = {name: metadata.version(name) for name in ("pyspark", "dbt-core", "dbt-spark", "pyarrow")}
    for jar in jars.read_lock(jars.LOCK.read_text(encoding="utf-8")):
        _, artifact, version = jar.coordinate.split(":")
        if artifact.startswith(("delta-spark", "hudi-spark")):
            found[artifact.partition("_")[0]] = version
    if BENCH_PYTHON.exists():
        code = "import duckdb, deltalake; print(duckdb.__version__, deltalake.__version__)"
        done = subprocess.run([str(BENCH_PYTHON), "-c", code], capture_output=True, text=True, check=False)
        found |= dict(zip(("duckdb", "deltalake"), done.stdout.split(), strict=False))
    return found
