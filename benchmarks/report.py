"""`docs/performance.md` and its plots, from the raw results."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.process import BENCH_PYTHON
from benchmarks.project import REPOSITORY
from benchmarks.summary import (
    ALL_GUARDS,
    FIRST_LOAD,
    MANY_BATCHES,
    SCRIPT,
    TARGETS,
    Plot,
    Range,
    Ratio,
    Results,
    percentile,
    plots,
    slope,
    spread,
)
from benchmarks.systems import WITHOUT_CURRENT_ROWS

PAGE = REPOSITORY / "docs" / "performance.md"
PLOTS = "performance"
# A result that is this much slower than the best right one is a losing case.
LOSING_FROM = 1.05
TARGETS_OF_PROFILE = {
    "local": "In a process of its own:",
    "thrift": "On a server that has built another table before:",
}


def write(folder: Path, page: Path = PAGE, *, plots: bool = True) -> int:
    """Writes the page and its plots; returns 0.

    Args:
        folder: with the raw results.
        page: to write; its plots go to the folder `PLOTS` beside it.
        plots: whether to draw them.

    Raises:
        subprocess.CalledProcessError: the plots cannot be drawn.
    """
    results = Results.read(folder)
    if not results.scenarios:
        raise SystemExit(f"benchmarks: {folder} has no results: measure some with `run`, or give --results a folder")
    page.write_text(text(results), encoding="utf-8")
    if plots:
        command = [str(BENCH_PYTHON), "-m", "benchmarks.plots", str(folder), str(page.parent / PLOTS)]
        subprocess.run(command, cwd=REPOSITORY, check=True)
    return 0


def text(results: Results) -> str:
    """The page.

    Args:
        results: raw.
    """
    own = {plot.name: plot for plot in plots(results)}
    lines = [
        "# Performance",
        "",
        "`make performance` writes this page from the raw results in `benchmarks/results`. "
        "[benchmarks/README.md](../benchmarks/README.md) describes the systems, the scenarios and how to repeat them.",
        "",
        *_environment(results),
        "",
        "## Targets",
        "",
        "Ratios are within one run: each round divides the seconds (or CPU seconds) of one system by those of the "
        "other. "
        "A figure of several rounds is their median, with the range in parentheses. The script is `merge_guarded`: a "
        "MERGE of the latest event of each key that skips older events. A + after a commit means that a file differed "
        'from it. "Before" is commit '
        f"{results.before.get('commit', 'unknown')}. {results.before.get('note', '')}".rstrip(),
        "",
        *_targets(results),
        "",
        *_image(own.get("before_after")),
        *_why(results),
        *_profile(results),
        *_guards(results),
        "## Losing cases",
        "",
        *_losing(results),
        "",
        "## Scenarios",
        "",
        "If a system's table differs from the expected rows after a batch, the number of wrong rows stands in place of "
        "its time. "
        "Seconds are those of the median batch. Events per second count from the start of the batch to a committed, "
        "readable row. Compaction is included in the seconds of the batch that triggers it.",
    ]
    for name in results.scenarios:
        lines += ["", *_scenario(results, name, own)]
    lines += [*_image(own.get("growth"), before=True), "", "## Not run", ""]
    not_run = {system: reason for result in results.scenarios.values() for system, reason in result["not_run"].items()}
    lines += [f"- **{system}**: {reason}" for system, reason in not_run.items()] or ["- None."]
    for name in results.scenarios:
        for format_name, system, message in results.failures(name):
            lines.append(f"- **{system}** in `{name}`, {format_name}: {message}")
    return "\n".join(lines).rstrip() + "\n"


def number(value: float) -> str:
    """Three digits that count, and no more."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ranged(value: Range | None, unit: str = "") -> str:
    """A median with its range, where there is one."""
    if value is None:
        return ""
    after = f" {unit}" if unit else ""
    between = "" if value.low == value.high else f" ({number(value.low)}\N{EN DASH}{number(value.high)})"
    return f"{number(value.median)}{after}{between}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a Markdown table."""
    head = list(head)
    lines = [head, ["--"] * len(head), *map(list, rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _environment(results: Results) -> Iterator[str]:
    seen: dict[tuple[Any, ...], list[str]] = {}
    for name, result in results.scenarios.items():
        key = (
            _machine(result),
            ", ".join(f"{one} {version}" for one, version in sorted(result["versions"].items())),
            result["commit"],
            result["date"],
        )
        seen.setdefault(key, []).append(name)
    yield from table(
        ("scenarios", "commit", "date", "machine", "versions"),
        ((", ".join(names), key[2], key[3], key[0], key[1]) for key, names in seen.items()),
    )


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}, "
        f"Python {machine['python']}"
    )


def _targets(results: Results) -> list[str]:
    rows = []
    for target in TARGETS:
        after = target.after(results)
        met = "" if after is None else "yes" if after.median <= target.at_most else "**no**"
        limit = f"at most {target.at_most:g}{f' {target.unit}' if target.unit else ''}"
        shown = ranged(after, target.unit) or "not measured"
        before = target.before or (target.after.before(results) if isinstance(target.after, Ratio) else "")
        rows.append((target.what, limit, before or "not measured", shown, met))
    return table(("what", "target", "before", "after", "met"), rows)


def _why(results: Results) -> list[str]:
    """What stands between Alluvium and the script; nothing if the guards were not measured."""
    costs = {name: cost for name, cost, _ in results.guard_costs()}
    if not costs:
        return []
    return [
        "## Why the script is faster",
        "",
        f"- **Per event**: a change log takes {number(costs[ALL_GUARDS])} microseconds of processor time to decode "
        f"one, the script {number(costs[SCRIPT])}. Most of the difference is the guards, and each keeps a promise. "
        "Then Alluvium writes each event to the change log and reads it again for the state. The script writes current "
        "rows only.",
        "- **Per batch**: a build lists files, checks ledgers and tables, and writes a log, a state and two ledgers, "
        "each with its own statements. Planning and committing a statement takes as long for ten events as for ten "
        "thousand.",
        "- **Per process**: Java, Spark, dbt and each first statement start cold. `alluvium run` and a server start "
        "once.",
        "",
    ]


def _profile(results: Results) -> list[str]:
    """Where the seconds of a build go; nothing if it was not measured."""
    profile = results.profile
    if not profile:
        return []
    lines = [
        "## Where the seconds go",
        "",
        f"`make profile` builds one table with its five models from {profile['rows']:,} rows, then from changes to 1 % "
        "of them, then from nothing new, with one thread. Each cell has seconds, and in parentheses the seconds of "
        "Spark's jobs; the rest is planning, commits and the catalog. Parts below 2 % are left out. Commit "
        f"{profile['commit']}, {_machine(profile)}.",
        "",
    ]
    for target, title in TARGETS_OF_PROFILE.items():
        if steps := profile.get(target):
            lines += [title, "", *table(("part", *steps), _parts(steps.values())), ""]
    return lines


def _parts(steps: Collection[list[dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """The parts that take at least 2 % of a step, and the sums."""
    by_name = [{": ".join(filter(None, (part["node"], part["verb"]))): part for part in step} for step in steps]
    sums = [sum(part["seconds"] for part in step) for step in steps]
    for name in dict.fromkeys(name for parts in by_name for name in parts):
        own = [parts.get(name, {"seconds": 0.0, "job_seconds": 0.0}) for parts in by_name]
        if any(part["seconds"] >= whole / 50 for part, whole in zip(own, sums, strict=True)):
            yield name, *(f"{number(part['seconds'])} ({number(part['job_seconds'])})" for part in own)
    yield "whole build", *map(number, sums)


def _guards(results: Results) -> list[str]:
    """What each guard costs; nothing if it was not measured."""
    costs = results.guard_costs()
    if not costs:
        return []
    guards = results.guards
    return [
        "## What each guard costs",
        "",
        "`make guards` runs the query of a change log with all of its guards, without each of them, and the script's "
        "own. It alternates them in one warm process and writes no table. Processor time per event; medians of "
        f"{len(guards['queries'][ALL_GUARDS]['cpu_seconds'])} rounds over {guards['events']:,} events, commit "
        f"{guards['commit']}, {_machine(guards)}. The costs do not add up: Spark shares what several guards read.",
        "",
        *table(
            ("query", "microseconds per event", "cost of the guard"),
            (
                (
                    name if name in (ALL_GUARDS, SCRIPT) else f"without {name}",
                    number(cost),
                    "" if name == ALL_GUARDS else number(saved),
                )
                for name, cost, saved in costs
            ),
        ),
        "",
    ]


def _losing(results: Results) -> list[str]:
    found = []
    for name, result in results.scenarios.items():
        for case in result["cases"]:
            for phase in results.phases(name):
                lost = _lost(results, name, phase, case["format"], result["scenario"]["systems"])
                if lost:
                    found.append((lost[0], (f"`{name}`", case["format"], phase, lost[1], number(lost[0]))))
    if not found:
        return ["None." if results.scenarios else "No results."]
    rows = [row for _, row in sorted(found, key=lambda one: -one[0])]
    head = ("scenario", "format", "phase", "fastest right system", "Alluvium is slower by the factor")
    return [
        "Where another system with the right rows is faster. A script that finds no new file ends after a "
        "millisecond, which is no factor to compare with; `decode` makes no current rows.",
        "",
        *table(head, rows),
    ]


def _lost(results: Results, name: str, phase: str, format_name: str, systems: list[str]) -> tuple[float, str] | None:
    seconds = {}
    for system in systems:
        if system in WITHOUT_CURRENT_ROWS:
            continue
        found = spread(results.typical(name, system, phase, "seconds", format_name))
        if found and not results.wrong(name, system, phase, format_name) and found.median > 0.01:
            seconds[system] = found.median
    best = min(seconds, key=lambda system: seconds[system], default="")
    if "alluvium" not in seconds or seconds["alluvium"] <= seconds[best] * LOSING_FROM:
        return None
    return seconds["alluvium"] / seconds[best], best


def _scenario(results: Results, name: str, own: dict[str, Plot]) -> Iterator[str]:
    result = results.scenarios[name]
    scenario = result["scenario"]
    yield f"### {name}"
    yield ""
    rounds = max((len(one["rounds"]) for case in result["cases"] for one in case["systems"].values()), default=0)
    yield (
        f"{scenario['shows']}. {scenario['shape']['rows']:,} rows, {scenario['session']} session, driver of "
        f"{scenario['memory']}, {rounds} round{'s' if rounds != 1 else ''}."
    )
    for case in result["cases"]:
        for phase in results.phases(name):
            yield ""
            yield from _phase(results, name, phase, case)
    for plot in (own.get(name), own.get(f"{name}_batches")):
        yield from _image(plot, before=True)


def _phase(results: Results, name: str, phase: str, case: dict[str, Any]) -> Iterator[str]:
    landed = [one for one in case["landed"] if one["phase"] == phase]
    if not landed:
        return
    events = sum(one["events"] for one in landed) / len(landed)
    title = phase if len(landed) == 1 else f"{phase}, {len(landed)} batches"
    size = sum(one["size"] for one in landed) / len(landed) / 1e6
    files = sum(one["files"] for one in landed) / len(landed)
    yield f"**{case['format']}, {title}**" + (
        f": {events:,.0f} events, {number(size)} MB, {files:,.0f} files each" if events else ""
    )
    yield ""
    is_long = len(landed) >= MANY_BATCHES
    head = ["system", "seconds", "events/s", "CPU s", "peak GB", "bytes written per changed row", "read s"]
    rows = []
    for system in case["systems"]:
        cells = _cells(results, name, phase, case["format"], system, events)
        if cells and is_long:
            cells += _long_cells(results, name, phase, case["format"], system)
        if cells:
            rows.append([system, *cells])
    if is_long:
        head += ["p50 s", "p95 s", "slope per 100 batches"]
    yield from table(head, rows)


def _cells(results: Results, name: str, phase: str, format_name: str, system: str, events: float) -> list[str]:
    seconds = spread(results.typical(name, system, phase, "seconds", format_name))
    if seconds is None:
        return []
    wrong = results.wrong(name, system, phase, format_name)
    cpu = spread(results.typical(name, system, phase, "cpu_seconds", format_name))
    peak = [value for own in results.values(name, system, phase, "peak_memory", format_name) for value in own]
    changed = [batch for own in results.rounds(name, system, format_name) for batch in own if batch["phase"] == phase]
    rows = sum(batch["changed"] for batch in changed)
    written = sum(batch.get("bytes_written", 0) for batch in changed)
    reads = [value for own in results.values(name, system, phase, "read_seconds", format_name) for value in own]
    is_timed = not wrong and seconds.median > 0
    return [
        f"**wrong: {wrong:,} rows**" if wrong else ranged(seconds),
        f"{events / seconds.median:,.0f}" if events and is_timed else "",
        ranged(cpu) if not wrong else "",
        number(max(peak) / 1e9) if peak else "",
        number(written / rows) if rows and written else "",
        # First and last, so that growth is seen.
        "" if not reads else number(reads[0]) if len(reads) == 1 else f"{number(reads[0])} … {number(reads[-1])}",
    ]


def _long_cells(results: Results, name: str, phase: str, format_name: str, system: str) -> list[str]:
    if results.wrong(name, system, phase, format_name):
        return ["", "", ""]
    rounds = results.values(name, system, phase, "seconds", format_name)
    every = [value for own in rounds for value in own]
    trend = spread(slope(own) for own in rounds if len(own) > 1)
    return [number(percentile(every, 0.5)), number(percentile(every, 0.95)), f"{trend.median:+.0%}" if trend else ""]


def _image(plot: Plot | None, *, before: bool = False) -> list[str]:
    if plot is None:
        return []
    image = f"![{plot.title}]({PLOTS}/{plot.name}.svg)"
    return ["", image] if before else [image, ""]


__all__ = ["FIRST_LOAD", "PAGE", "text", "write"]
