"""`make bench-smoke`: a first load, 1 % scattered changes, nothing new; this project beside a plain PySpark script.

Each step of each side runs in a process of its own, one after the other, over the same files and with the same session
settings. It reports and judges nothing but that both sides end with the same rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import generator, project

FEW_FILES = 10


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; returns 1 when the two sides do not end with the same rows."""
    options = parse(arguments)
    with project.working_folder("bench", options.directory, keep=options.keep) as folder:
        report: dict[str, Any] = {"rows": options.rows, "steps": []}
        if options.rows:
            report["steps"] = compare_sides(folder, options.rows)
        if options.files:
            report["applied_files"] = compare_ledgers(folder, options.files)
        report["equal"] = all(step["alluvium"]["hash"] == step["plain"]["hash"] for step in report["steps"])
        show(report)
        if options.json:
            options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["equal"] else 1


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options; see ``--help``."""
    parser = argparse.ArgumentParser(prog="benchmarks.smoke", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="keys of the first load; 0 leaves the comparison out"
    )
    parser.add_argument(
        "--files",
        type=int,
        default=0,
        help=f"time a run with nothing new over so many applied files, and over {FEW_FILES}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file too")
    parser.add_argument("--keep", action="store_true", help="keep the generated files and the tables")
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where to work; the system's temporary directory")
    return parser.parse_args(arguments)


def compare_sides(folder: Path, rows: int) -> list[dict[str, Any]]:
    """Figures of both sides for each step: seconds, process_seconds, rows, hash; and what landed before it."""
    location = folder / "landing" / "topics" / generator.TOPIC
    project.write_project(folder / "project", location)
    offsets: dict[int, int] = {}
    steps = []
    for name, events in generator.steps(rows).items():
        files, lines, size = generator.land(location, events, offsets)
        print(f"{name}: {files} files, {lines:,} events, {size / 1e6:.1f} MB", flush=True)
        steps.append(
            {
                "step": name,
                "files": files,
                "events": lines,
                "bytes": size,
                "alluvium": run("alluvium_build", "build", folder / "project", folder / "alluvium"),
                "plain": run("plain_merge", location, folder / "plain"),
            }
        )
    return steps


def compare_ledgers(folder: Path, files: int) -> list[dict[str, Any]]:
    """Seconds of a run with nothing new, over few applied files and over many; the same events in both."""
    measured = []
    for count in (FEW_FILES, files):
        home, root = folder / f"ledger-{count}", folder / f"ledger-{count}-project"
        location = folder / f"landing-{count}" / generator.TOPIC
        project.write_project(root, location)
        generator.land(location, generator.initial_lines(1000, generator.SEED), {})
        run("alluvium_build", "build", root, home)
        generator.land_tiny(location / "partition=9", count - generator.PARTITIONS)
        filled = run("alluvium_build", "fill", root, home)
        # Twice, the second counts: the first run after the entries also reads Delta's log of them.
        run("alluvium_build", "build", root, home)
        measured.append({"files": count, **filled, **run("alluvium_build", "build", root, home)})
        print(f"{count:,} applied files: {measured[-1]['seconds']:.1f} s", flush=True)
    return measured


def run(module: str, *arguments: str | Path) -> dict[str, Any]:
    """The figures of one step in a process of its own, and `process_seconds`, from its start to its end.

    Raises:
        SystemExit: the step failed.
    """
    home = Path(arguments[-1])
    home.mkdir(parents=True, exist_ok=True)
    figures = home / "figures.json"
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments), str(figures)],
        cwd=project.REPOSITORY,
        env={**os.environ, "ALLUVIUM_HOME": str(home)},
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"bench-smoke: {module} {arguments[0]} failed; its message is above.")
    found: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return found | {"process_seconds": time.monotonic() - started}


def show(report: dict[str, Any]) -> None:
    """Prints the figures."""
    if report["steps"]:
        print(f"\n{'':<14}{'Alluvium':>10}{'plain':>10}{'ratio':>8}{'whole process':>22}{'events':>12}{'rows':>12}")
        for step in report["steps"]:
            ours, plain = step["alluvium"], step["plain"]
            whole = f"{ours['process_seconds']:.1f} s {plain['process_seconds']:.1f} s"
            ratio = ours["seconds"] / plain["seconds"]
            shown = f"{ratio:.2f}" if plain["seconds"] >= 0.1 else "-"  # against nothing at all a ratio says nothing
            print(
                f"{step['step']:<14}{ours['seconds']:>8.1f} s{plain['seconds']:>8.1f} s{shown:>8}{whole:>22}"
                f"{step['events']:>12,}{ours['rows']:>12,}"
            )
            models = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in ours["models"].items())
            print(f"{'':<14}  {models}")
        last = report["steps"][-1]
        equal = "the same rows" if report["equal"] else "NOT the same rows"
        print(
            f"\nBoth sides have {equal} after every step: {last['alluvium']['rows']:,} and {last['plain']['rows']:,},"
            f" hash {last['alluvium']['hash']} and {last['plain']['hash']} at the end."
        )
        print(
            "Seconds: `dbt build`, or the script's work, in a running session. Whole process: with the start of Python"
        )
        print("and the JVM, and with the check of the rows.")
    if report.get("applied_files"):
        few, many = report["applied_files"]
        print(
            f"\nNothing new, {few['files']:,} applied files: {few['seconds']:.1f} s; {many['files']:,} applied files: "
            f"{many['seconds']:.1f} s; ratio {many['seconds'] / few['seconds']:.2f}."
        )


if __name__ == "__main__":
    sys.exit(main())
