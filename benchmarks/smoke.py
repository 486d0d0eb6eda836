"""`make bench-smoke`: a first load, 1 % scattered changes, nothing new; Alluvium beside a plain PySpark script.

Each step of each side runs in a process of its own, in turns, over equal files and with the same session settings.
It fails where a table has wrong rows, or where a ratio is above its limit in `limits.yml`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import generator, limits, project
from benchmarks.generator import ENTITY, SEED, Shape, Stream
from benchmarks.oracle import Oracle
from benchmarks.process import SystemFailedError, SystemProcess

FEW_FILES = 10
SIDES = {"alluvium": "alluvium", "plain": "merge_guarded"}
Figures = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; returns 1 when a side has wrong rows or a ratio is above its limit."""
    options = parse(arguments)
    report: Figures = {"rows": options.rows, "steps": []}
    with project.working_folder("bench", options.directory, keep=options.keep) as folder:
        try:
            if options.rows:
                report["steps"] = compare_sides(folder, options.rows, options.rounds)
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
        allowed: as `limits.read` gives it; it holds for its number of rows only.
    """
    found = []
    for step in report["steps"]:
        found += [
            f"{step['step']}: {side}: {step[side]['wrong_rows']:,} wrong rows"
            for side in SIDES
            if step[side]["wrong_rows"]
        ]
    if report["steps"] and report["rows"] == allowed["rows"]:
        found += limits.exceeded(report, allowed)
    elif report["steps"]:
        print(f"Limits are for {allowed['rows']:,} rows: not checked.")
    for message in found:
        print(f"bench-smoke: {message}", file=sys.stderr)
    return 1 if found else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options; see ``--help``."""
    parser = argparse.ArgumentParser(prog="benchmarks.smoke", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="keys of the first load; 0 skips the comparison")
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


def compare_sides(folder: Path, rows: int, rounds: int = 1) -> list[Figures]:
    """Figures of both sides for each step, and what landed before it.

    Args:
        folder: for files and tables.
        rows: keys of the first load.
        rounds: repetitions; each side begins every other step.

    Raises:
        SystemFailedError: a side has failed.
    """
    found: dict[str, Figures] = {}
    for number in range(rounds):
        shape = Shape(rows, seed=SEED)
        stream = Stream(shape, folder / f"round-{number}" / "landing" / "topics" / generator.TOPIC)
        oracle = Oracle(shape)
        for turn, (name, landed) in enumerate(generator.steps(stream)):
            if turn == 1:
                oracle.apply(stream.events)
            print(f"{name}: {landed.files} files, {landed.events:,} events, {landed.size / 1e6:.1f} MB", flush=True)
            step = found.setdefault(
                name, {"step": name, "files": landed.files, "events": landed.events, "bytes": landed.size}
            )
            sides = list(SIDES) if (number + turn) % 2 == 0 else list(reversed(SIDES))
            for side in sides:
                figures = run_step(SIDES[side], folder / f"round-{number}" / side, stream, oracle)
                step.setdefault(f"{side}_rounds", []).append(figures)
    for step in found.values():
        for side in SIDES:
            step[side] = typical(step[f"{side}_rounds"])
    return list(found.values())


def typical(rounds: Sequence[Figures]) -> Figures:
    """The medians of the rounds, figure by figure; of the rest the worst or the last."""
    last = dict(rounds[-1])
    for figure in ("seconds", "cpu_seconds", "process_seconds"):
        last[figure] = median(one[figure] for one in rounds)
    last["models"] = {model: median(one["models"][model] for one in rounds) for model in last["models"]}
    last["wrong_rows"] = max(one["wrong_rows"] for one in rounds)
    return last


def run_step(system: str, home: Path, stream: Stream, oracle: Oracle) -> Figures:
    """One step of one side in a process of its own; its costs, its rows and how many of them are wrong.

    Raises:
        SystemFailedError: the side has failed.
    """
    with SystemProcess(system, home, {ENTITY: (stream.folder, stream.shape)}) as process:
        process.send("start")
        process.send("prepare")
        cost = process.cost("apply")
        rows, total = process.send("digest")["value"]
        wrong = 0
        if (rows, total) != oracle.digest:
            process.send("row_hashes", str(home / "row_hashes.json"))
            with (home / "row_hashes.json").open(encoding="utf-8") as lines:
                wrong = oracle.wrong_rows((key, hashed) for key, hashed in map(json.loads, lines))
        return {
            "seconds": cost.seconds,
            "cpu_seconds": cost.cpu_seconds,
            "peak_memory": cost.peak_memory,
            "process_seconds": process.end(),
            "models": cost.answer.get("models", {}),
            "rows": rows,
            "hash": str(total),
            "wrong_rows": wrong,
        }


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
        print("Seconds: `dbt build`, or the script's work, in a running session. Whole process: with the start of")
        print("Python and the JVM, and with the check of the rows.")
    if report.get("applied_files"):
        few, many = report["applied_files"]
        print(
            f"\nNothing new, {few['files']:,} applied files: {few['seconds']:.1f} s; {many['files']:,} applied files: "
            f"{many['seconds']:.1f} s; ratio {many['seconds'] / few['seconds']:.2f}."
        )


if __name__ == "__main__":
    sys.exit(main())
