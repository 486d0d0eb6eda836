"""`make bench-smoke`: a first load, 1 % scattered changes, nothing new; Alluvium beside a plain PySpark script.

The sides take turns, over equal files and with the same session settings, each step in a process of its own (cold) or
each side in one process (warm). It fails where a table has wrong rows, or where a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import generator, limits, project
from benchmarks.generator import ENTITY, SEED, Shape, Stream
from benchmarks.oracle import Digest, Oracle
from benchmarks.process import SystemFailedError, SystemProcess

FEW_FILES = 10
SIDES = {"alluvium": "alluvium", "plain": "merge_guarded"}
Figures = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; returns 1 when a side has wrong rows or a ratio is above its limit."""
    options = parse(arguments)
    report: Figures = {"rows": options.rows, "session": options.session, "steps": []}
    with project.working_folder("bench", options.directory, keep=options.keep) as folder:
        try:
            if options.rows:
                report["steps"] = compare_sides(folder, options)
            if options.files:
                report["applied_files"] = compare_ledgers(folder, options.files)
        except SystemFailedError as error:
            print(f"bench-smoke: {error}", file=sys.stderr)
            return 1
    report["equal"] = all(not step[side]["wrong_rows"] for step in report["steps"] for side in SIDES)
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return judge(report, limits.read(options.limits))


def judge(report: Figures, allowed: Figures) -> int:
    """Prints what is wrong or above its limit; returns 1 if anything is.

    Args:
        report: of this run.
        allowed: as `limits.read` gives it; it holds for its number of rows and its session only.
    """
    found = []
    for step in report["steps"]:
        found += [
            f"{step['step']}: {side}: {step[side]['wrong_rows']:,} wrong rows"
            for side in SIDES
            if step[side]["wrong_rows"]
        ]
    is_limited = all(report[key] == allowed[key] for key in ("rows", "session"))
    if report["steps"] and is_limited:
        found += limits.exceeded(report, allowed)
    elif report["steps"]:
        print(f"Limits are for {allowed['rows']:,} rows in a {allowed['session']} session: not checked.")
    for message in found:
        print(f"bench-smoke: {message}", file=sys.stderr)
    return 1 if found else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options; see ``--help``."""
    parser = argparse.ArgumentParser(prog="benchmarks.smoke", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="keys of the first load; 0 skips the comparison")
    parser.add_argument(
        "--session", choices=("cold", "warm"), default="cold", help="a process for each step, or for each side"
    )
    parser.add_argument("--rounds", type=int, default=1, help="repetitions; the figures are medians")
    parser.add_argument(
        "--files",
        type=int,
        default=0,
        help=f"time a run with nothing new over so many applied files, and over {FEW_FILES}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    parser.add_argument("--limits", type=Path, default=limits.FILE, metavar="FILE", help="limits of the ratios")
    parser.add_argument("--keep", action="store_true", help="keep the generated files and the tables")
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where to work; the system's temporary directory")
    return parser.parse_args(arguments)


def compare_sides(folder: Path, options: argparse.Namespace) -> list[Figures]:
    """Figures of both sides for each step, and what landed before it.

    Args:
        folder: for files and tables.
        options: as `parse` gives them.

    Raises:
        SystemFailedError: a side has failed.
    """
    found: dict[str, Figures] = {}
    shape = Shape(options.rows, seed=SEED)
    for number in range(options.rounds):
        work = folder / f"round-{number}"
        stream = Stream(shape, work / "landing" / "topics" / generator.TOPIC)
        oracle = Oracle(shape)
        with ExitStack() as stack:
            sides = {name: Side(system, work / name, stream) for name, system in SIDES.items()}
            for side in sides.values():
                stack.callback(side.end)
            for turn, (name, landed) in enumerate(generator.steps(stream)):
                if turn == 1:
                    oracle.apply(stream.events)
                print(f"{name}: {landed.files} files, {landed.events:,} events, {landed.size / 1e6:.1f} MB", flush=True)
                about = {"step": name, "files": landed.files, "events": landed.events, "bytes": landed.size}
                step = found.setdefault(name, about)
                for one in SIDES if (number + turn) % 2 == 0 else reversed(SIDES):
                    figures = sides[one].step(oracle, is_last=options.session == "cold")
                    print(f"  {one:<10}{figures['seconds']:>8.1f} s{figures['cpu_seconds']:>8.1f} s cpu", flush=True)
                    step.setdefault(f"{one}_rounds", []).append(figures)
    for step in found.values():
        for one in SIDES:
            step[one] = typical(step[f"{one}_rounds"])
    return list(found.values())


def typical(rounds: Sequence[Figures]) -> Figures:
    """The medians of the rounds, figure by figure; of the rest the worst or the last."""
    last = dict(rounds[-1])
    for figure in ("seconds", "cpu_seconds", "process_seconds"):
        last[figure] = median(one[figure] for one in rounds)
    last["models"] = {model: median(one["models"][model] for one in rounds) for model in last["models"]}
    last["wrong_rows"] = max(one["wrong_rows"] for one in rounds)
    return last


class Side:
    """One side of one round.

    Args:
        system: its name.
        home: folder for what it writes.
        stream: whose files it reads.
    """

    def __init__(self, system: str, home: Path, stream: Stream) -> None:
        self._system, self._home, self._stream = system, home, stream
        self._process: SystemProcess | None = None

    def end(self) -> None:
        """Ends the process."""
        if self._process:
            self._process.end()
            self._process = None

    def step(self, oracle: Oracle, *, is_last: bool) -> Figures:
        """Builds what has landed; returns its costs, its rows and how many of them are wrong.

        Args:
            oracle: for the table.
            is_last: whether the process ends with the step.

        Raises:
            SystemFailedError: the side has failed.
        """
        started = time.monotonic()
        if self._process is None:
            self._process = SystemProcess(self._system, self._home, {ENTITY: (self._stream.folder, self._stream.shape)})
            self._process.send("start")
            self._process.send("prepare")
        cost = self._process.cost("apply")
        rows, total = self._process.send("digest")["value"]
        figures = {
            "seconds": cost.seconds,
            "cpu_seconds": cost.cpu_seconds,
            "peak_memory": cost.peak_memory,
            "models": cost.answer.get("models", {}),
            "rows": rows,
            "hash": str(total),
            "wrong_rows": self._process.wrong_rows(oracle, Digest(rows, total)),
        }
        if is_last:
            self.end()
        return figures | {"process_seconds": time.monotonic() - started}


def compare_ledgers(folder: Path, files: int) -> list[Figures]:
    """Seconds of a run with nothing new, over few applied files and over many; equal events in both.

    Raises:
        SystemFailedError: a build has failed.
    """
    measured = []
    shape = Shape(1000)
    for count in (FEW_FILES, files):
        stream = Stream(shape, folder / f"landing-{count}" / generator.TOPIC)
        landed = stream.land()

        def step(command: str, home: Path = folder / f"ledger-{count}", landing: Path = stream.folder) -> Figures:
            with SystemProcess("alluvium", home, {ENTITY: (landing, shape)}) as process:
                process.send("start")
                process.send("prepare")
                cost = process.cost(command)
                return {"seconds": cost.seconds, "process_seconds": process.end(), **cost.answer}

        step("apply")
        generator.land_tiny(stream.folder / "partition=9", count - landed.files)
        rows = step("fill_ledger")["value"]
        # Twice, the second counts: the first run after the entries also reads Delta's log of them.
        step("apply")
        measured.append({"files": count, "ledger_rows": rows, **step("apply")})
        print(f"{count:,} applied files: {measured[-1]['seconds']:.1f} s", flush=True)
    return measured


def show(report: Figures) -> None:
    """Prints the figures."""
    if report["steps"]:
        print(
            f"\n{'':<14}{'Alluvium':>10}{'plain':>10}{'ratio':>8}{'CPU s':>16}{'whole process':>22}"
            f"{'events':>12}{'rows':>12}"
        )
        for step in report["steps"]:
            ours, plain = step["alluvium"], step["plain"]
            whole = f"{ours['process_seconds']:.1f} s {plain['process_seconds']:.1f} s"
            cpu = f"{ours['cpu_seconds']:.1f} {plain['cpu_seconds']:.1f}"
            ratio = ours["seconds"] / plain["seconds"]
            shown = f"{ratio:.2f}" if plain["seconds"] >= 0.1 else "-"  # against nothing at all a ratio says nothing
            print(
                f"{step['step']:<14}{ours['seconds']:>8.1f} s{plain['seconds']:>8.1f} s{shown:>8}{cpu:>16}{whole:>22}"
                f"{step['events']:>12,}{ours['rows']:>12,}"
            )
            models = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in ours["models"].items())
            print(f"{'':<14}  {models}")
        outcome = "the expected rows" if report["equal"] else "NOT the expected rows"
        last = report["steps"][-1]
        print(
            f"\nBoth sides have {outcome} after every step: {last['alluvium']['rows']:,} and {last['plain']['rows']:,}"
            f" at the end."
        )
        print("Seconds: `dbt build`, or the script's work, in a running session. Whole process: with the check of the")
        print("rows and, where a process has begun, the start of Python and the JVM.")
    if report.get("applied_files"):
        few, many = report["applied_files"]
        print(
            f"\nNothing new, {few['files']:,} applied files: {few['seconds']:.1f} s; {many['files']:,} applied files: "
            f"{many['seconds']:.1f} s; ratio {many['seconds'] / few['seconds']:.2f}."
        )


if __name__ == "__main__":
    sys.exit(main())
