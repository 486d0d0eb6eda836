"""`python -m benchmarks`: runs scenarios and writes the report."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks import limits, report, runner, scenarios, systems
from benchmarks.generator import FORMATS
from benchmarks.project import working_folder
from benchmarks.summary import Results

RESULTS = Path(__file__).with_name("results")


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns 1 if a system has failed."""
    options = parse(arguments)
    found: int = options.command(options)
    return found


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_count.__name__ = "number from 1"  # as argparse names it in its errors


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options; see ``--help``."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=(__doc__ or "").split(": ")[1])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("list", help="list scenarios and systems")
    command.set_defaults(command=_list)
    command = commands.add_parser("run", help="run scenarios and write a JSON file for each")
    command.set_defaults(command=_run)
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="names from `list`")
    command.add_argument("--systems", nargs="+", choices=systems.NAMES, help="only these systems")
    command.add_argument("--formats", nargs="+", choices=tuple(FORMATS), help="only these formats")
    command.add_argument("--rounds", type=_count, help="repetitions, in place of the scenario's")
    command.add_argument("--rows", type=_count, help="keys of the first load; needs --results")
    command.add_argument("--batches", type=_count, help="maximum batches of a phase")
    command.add_argument("--results", type=Path, metavar="DIR", help="for the JSON files; default: benchmarks/results")
    command.add_argument(
        "--directory", type=Path, metavar="DIR", help="working directory; default: the system's temporary directory"
    )
    command = commands.add_parser(
        "gate", help="run the scenario that has limits; fail where a ratio is above its limit"
    )
    command.set_defaults(command=_gate)
    command.add_argument("--rounds", type=_count, help="repetitions, in place of the scenario's")
    command.add_argument(
        "--limits",
        type=Path,
        default=limits.FILE,
        metavar="FILE",
        help="default: limits.yml",
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    command = commands.add_parser("report", help="write docs/performance.md and its plots from the JSON files")
    command.set_defaults(command=lambda options: report.write(options.results, plots=not options.no_plots))
    command.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="folder of the JSON files")
    command.add_argument("--no-plots", action="store_true", help="the page only, which needs no .venv-bench")
    return parser.parse_args(arguments)


def _list(_: argparse.Namespace) -> int:
    for scenario in scenarios.read().values():
        batches = sum(phase.batches for phase in scenario.phases)
        print(
            f"{scenario.name:<16}{scenario.shape.rows:>12,} rows{batches:>5} batches{scenario.rounds:>3} rounds"
            f"  {scenario.shows}"
        )
        print(f"{'':<16}{', '.join(scenario.systems)}; {', '.join(scenario.formats)}")
    for name in systems.NAMES:
        print(f"{name}")
    for name, reason in systems.NOT_RUN.items():
        print(f"{name}: not run. {reason}")
    return 0


def _run(options: argparse.Namespace) -> int:
    known = scenarios.read()
    if unknown := sorted(set(options.scenarios) - set(known)):
        raise SystemExit(f"benchmarks: unknown scenario {', '.join(unknown)}; allowed: {', '.join(known)}")
    if options.rows and not options.results:
        raise SystemExit("benchmarks: --rows needs --results: benchmarks/results has scenarios with all of their rows")
    folder_of_results = options.results or RESULTS
    status = 0
    for name in options.scenarios:
        scenario = _reduced(known[name], options)
        folder_of_results.mkdir(parents=True, exist_ok=True)
        with working_folder("benchmarks", options.directory) as folder:
            for result in runner.run(scenario, folder):
                text = json.dumps(result, indent=1) + "\n"
                (folder_of_results / f"{name}.json").write_text(text, encoding="utf-8")
        failed = [
            figures["failed"]
            for case in result["cases"]
            for own in case["systems"].values()
            for figures in own["rounds"]
            if figures["failed"]
        ]
        status = status or int(bool(failed))
    return status


def _gate(options: argparse.Namespace) -> int:
    if not options.limits.is_file():
        raise SystemExit(f"benchmarks: there is no file {options.limits}")
    allowed = limits.read(options.limits)
    name = allowed["scenario"]
    scenario = scenarios.read()[name]
    with working_folder("benchmarks") as folder:
        *_, result = runner.run(replace(scenario, rounds=options.rounds or scenario.rounds), folder)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    results = Results({name: result}, {})
    found = limits.findings(results, allowed)
    for limit in allowed["limits"]:
        ratio = results.ratio(name, limits.OURS, limits.SCRIPT, limit["phase"], limit["figure"])
        print(f"{limit['phase']}, {limit['figure']}: {report.ranged(ratio) or 'no ratio'}, at most {limit['at_most']}")
    for message in found:
        print(f"bench-smoke: {message}", file=sys.stderr)
    return int(bool(found))


def _reduced(scenario: scenarios.Scenario, options: argparse.Namespace) -> scenarios.Scenario:
    """A scenario with what the options replace."""
    if options.systems:
        scenario = replace(scenario, systems=tuple(options.systems))
    if options.formats:
        scenario = replace(scenario, formats=tuple(options.formats))
    if options.rounds:
        scenario = replace(scenario, rounds=options.rounds)
    phases = scenario.phases
    if options.rows:
        scenario = replace(scenario, shape=replace(scenario.shape, rows=options.rows))
        phases = tuple(replace(phase, shape=replace(phase.shape, rows=options.rows)) for phase in phases)
    if options.batches:
        phases = tuple(replace(phase, batches=min(phase.batches, options.batches)) for phase in phases)
    return replace(scenario, phases=phases)


if __name__ == "__main__":
    sys.exit(main())
