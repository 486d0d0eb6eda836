"""Figures of the report from the raw results: medians with ranges, ratios within a round, slopes.

Standard library only: the plots have another environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

FIRST_LOAD = "first load"
BEFORE = "before"
GUARDS, PROFILE = "guards", "profile"
# The queries of `guards.py` that are beside those without one guard.
ALL_GUARDS, SCRIPT = "all guards", "the script's from_json, without any guard"
# From so many batches on a phase has a 95th percentile and a slope.
MANY_BATCHES = 20


class Range(NamedTuple):
    """Values of several rounds or batches.

    Attributes:
        median: of them.
        low: the least.
        high: the greatest.
    """

    median: float
    low: float
    high: float


def spread(values: Iterable[float]) -> Range | None:
    """Median and range; None of nothing."""
    found = sorted(values)
    return Range(median(found), found[0], found[-1]) if found else None


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def slope(values: Sequence[float]) -> float:
    """Least-squares slope over the numbers of the values, per 100 of them, as a share of their median."""
    middle = (len(values) - 1) / 2
    average = sum(values) / len(values)
    covariance = sum((number - middle) * (value - average) for number, value in enumerate(values))
    variance = sum((number - middle) ** 2 for number in range(len(values)))
    return 100 * covariance / variance / median(values)


@dataclass(frozen=True)
class Results:
    """The raw results.

    Attributes:
        scenarios: by name, as `runner.run` writes them.
        before: figures of the commit that the targets start from.
        guards: what each guard costs, as `guards.main` writes it.
        profile: where the seconds of a build go, as `profile.main` writes it.
    """

    scenarios: dict[str, Any]
    before: dict[str, Any]
    guards: dict[str, Any] = field(default_factory=dict)
    profile: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Results:
        """The JSON files of a folder."""
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        before, guards, profile = (found.pop(name, {}) for name in (BEFORE, GUARDS, PROFILE))
        return cls(found, before, guards, profile)

    def case(self, scenario: str, format_name: str = "json") -> dict[str, Any]:
        """What was measured with one format; empty if nothing was."""
        cases = self.scenarios.get(scenario, {}).get("cases", [])
        return next((case for case in cases if case["format"] == format_name), {})

    def rounds(self, scenario: str, system: str, format_name: str = "json") -> list[list[dict[str, Any]]]:
        """Batches of each round."""
        own = self.case(scenario, format_name).get("systems", {}).get(system, {})
        return [figures["batches"] for figures in own.get("rounds", ())]

    def values(
        self, scenario: str, system: str, phase: str, figure: str, format_name: str = "json"
    ) -> list[list[float]]:
        """A figure of the batches of a phase, by round; a round without such a batch is left out.

        Args:
            scenario: its name.
            system: its name.
            phase: its name, or `FIRST_LOAD`.
            figure: such as `seconds`.
            format_name: of the files.
        """
        rounds = self.rounds(scenario, system, format_name)
        found = [[batch[figure] for batch in own if batch["phase"] == phase and figure in batch] for own in rounds]
        return [own for own in found if own]

    def typical(self, scenario: str, system: str, phase: str, figure: str, format_name: str = "json") -> list[float]:
        """The median batch of each round; see `values`."""
        return [median(own) for own in self.values(scenario, system, phase, figure, format_name)]

    def ratio(
        self, scenario: str, system: str, other: str, phase: str, figure: str = "seconds", format_name: str = "json"
    ) -> Range | None:
        """A figure of one system divided by that of another one, round by round.

        A round in which one of the two is wrong has no ratio.
        """
        if self.wrong(scenario, system, phase, format_name) or self.wrong(scenario, other, phase, format_name):
            return None
        ours, theirs = (self.typical(scenario, one, phase, figure, format_name) for one in (system, other))
        return spread(our / their for our, their in zip(ours, theirs, strict=False) if their)

    def wrong(self, scenario: str, system: str, phase: str, format_name: str = "json") -> int:
        """The most rows that were wrong after a batch of a phase."""
        return max(
            (
                batch.get("wrong_rows", 0)
                for own in self.rounds(scenario, system, format_name)
                for batch in own
                if batch["phase"] == phase
            ),
            default=0,
        )

    def failures(self, scenario: str) -> Iterator[tuple[str, str, str]]:
        """Format, system and message where a system has failed."""
        for case in self.scenarios.get(scenario, {}).get("cases", ()):
            for system, own in case["systems"].items():
                for figures in own["rounds"]:
                    if figures["failed"]:
                        yield case["format"], system, figures["failed"]
                        break

    def guard_costs(self) -> list[tuple[str, float, float]]:
        """Query, its processor microseconds per event, and how many fewer these are than with all guards.

        The most expensive guard first; before and after them the query with all, and the script's. Empty if not
        measured.
        """
        typical = {
            name: median(own["cpu_seconds"]) * 1e6 / self.guards["events"]
            for name, own in self.guards.get("queries", {}).items()
        }
        if not typical:
            return []
        costs = [(name, cost, typical[ALL_GUARDS] - cost) for name, cost in typical.items()]
        places = {ALL_GUARDS: -1, SCRIPT: 1}
        return sorted(costs, key=lambda row: (places.get(row[0], 0), -row[2]))

    def phases(self, scenario: str) -> list[str]:
        """The first load and the phases, in their order."""
        phases = self.scenarios.get(scenario, {}).get("scenario", {}).get("phases", ())
        return [FIRST_LOAD, *(phase["name"] for phase in phases)]


@dataclass(frozen=True)
class Target:
    """A target of the project.

    Attributes:
        what: is measured.
        at_most: the target.
        unit: of the figure; empty for a ratio.
        before: text of the figure at the commit that the targets start from, where it is no ratio of `Results.before`.
        after: the figure, None where it is not measured.
    """

    what: str
    at_most: float
    unit: str
    before: str
    after: Callable[[Results], Range | None]


@dataclass(frozen=True)
class Ratio:
    """How a system compares with another one in a phase; called with the results, it gives the ratio.

    Attributes:
        scenario: its name.
        phase: its name.
        other: the system to divide by.
        figure: that is compared.
        format_name: of the files.
        system: that is compared.
    """

    scenario: str
    phase: str
    other: str = "merge_guarded"
    figure: str = "seconds"
    format_name: str = "json"
    system: str = "alluvium"

    def __call__(self, results: Results) -> Range | None:
        """The ratio, round by round; None where it is not measured."""
        return results.ratio(self.scenario, self.system, self.other, self.phase, self.figure, self.format_name)

    def before(self, results: Results) -> str:
        """The ratio at the commit that the targets start from; empty where it was not measured."""
        wanted = (self.scenario, self.phase, self.other, self.format_name)
        for step in results.before.get("steps", ()):
            own = (step["scenario"], step["phase"], step["against"], step.get("format", "json"))
            if own == wanted and (self.figure, self.system) == ("seconds", "alluvium"):
                mark = "*" if step.get("is_of_other_machine") else ""
                return f"{step['alluvium_seconds'] / step['against_seconds']:.2f}{mark}"
        return ""


def _seconds(scenario: str, phase: str) -> Callable[[Results], Range | None]:
    return lambda results: spread(results.typical(scenario, "alluvium", phase, "seconds"))


def _marginal(results: Results, system: str = "alluvium") -> Range | None:
    small, large = (results.typical(f"table_{size}", system, FIRST_LOAD, "seconds") for size in ("1m", "5m"))
    return spread((more - less) / 4 for less, more in zip(small, large, strict=False))


def _marginal_ratio(results: Results) -> Range | None:
    ours, theirs = _marginal(results), _marginal(results, "merge_guarded")
    return spread([ours.median / theirs.median]) if ours and theirs else None


def _cpu_against_json(format_name: str) -> Callable[[Results], Range | None]:
    def found(results: Results) -> Range | None:
        ours = results.typical("formats", "alluvium", FIRST_LOAD, "cpu_seconds", format_name)
        json_ones = results.typical("formats", "alluvium", FIRST_LOAD, "cpu_seconds")
        return spread(one / plain for one, plain in zip(ours, json_ones, strict=False))

    return found


def _growth(smaller: str, larger: str) -> Callable[[Results], Range | None]:
    def found(results: Results) -> Range | None:
        less, more = (results.typical(name, "alluvium", RECENT, "seconds") for name in (smaller, larger))
        return spread(large / small for small, large in zip(less, more, strict=False))

    return found


def _finished(scenario: str) -> Callable[[Results], Range | None]:
    """Peak memory in GiB, where the first load has succeeded."""
    return lambda results: spread(
        value / 2**30 for value in results.typical(scenario, "alluvium", FIRST_LOAD, "peak_memory")
    )


SCATTERED, FEW, RECENT, IDLE = "1 % scattered", "0.01 % scattered", "10,000 recent keys", "nothing new"
TARGETS = (
    Target("First load, 1 M, against the script", 1.3, "", "", Ratio("table_1m", FIRST_LOAD)),
    Target("First load, 5 M, against the script", 1.3, "", "", Ratio("table_5m", FIRST_LOAD)),
    Target(
        "First load, 1 M, against the script with log, tombstones and quarantine",
        1.0,
        "",
        "",
        Ratio("table_1m", FIRST_LOAD, "merge_log"),
    ),
    Target(
        "First load, 5 M, against the script with log, tombstones and quarantine",
        1.0,
        "",
        "",
        Ratio("table_5m", FIRST_LOAD, "merge_log"),
    ),
    *(
        Target(
            f"First load, 0.5 M {title}, {session}, against decode to Delta",
            at_most,
            "",
            "",
            Ratio(scenario, FIRST_LOAD, "decode", format_name=name),
        )
        for scenario, session, at_most in (("formats_cold", "cold", 2.0), ("formats", "warm", 1.6))
        for name, title in (("json", "JSON"), ("json_gzip", "gzip"), ("avro", "Avro"), ("parquet", "Parquet"))
    ),
    Target("CPU seconds per event, gzip against JSON", 1.2, "", "", _cpu_against_json("json_gzip")),
    Target("CPU seconds per event, Avro against JSON", 1.0, "", "", _cpu_against_json("avro")),
    Target("CPU seconds per event, Parquet against JSON", 1.0, "", "", _cpu_against_json("parquet")),
    Target("Each additional million events of a first load", 5, "s", "26 s on a faster machine", _marginal),
    # The same on any machine: the script took 3.8 s for them.
    Target("Each additional million events of a first load, against the script", 1.3, "", "6.84*", _marginal_ratio),
    Target("1 % scattered keys of 1 M, against the script", 1.0, "", "", Ratio("table_1m", SCATTERED)),
    Target("1 % scattered keys of 5 M, against the script", 0.5, "", "", Ratio("table_5m", SCATTERED)),
    Target("1 % scattered keys of 20 M, against the script", 0.25, "", "", Ratio("table_20m", SCATTERED)),
    Target("0.01 % scattered keys of 5 M", 5, "s", "", _seconds("table_5m", FEW)),
    Target("Nothing new, one table", 1, "s", "10.5 s", _seconds("table_1m", IDLE)),
    Target("Nothing new, 100 entities", 30, "s", "", _seconds("entities", IDLE)),
    Target("A batch of recent keys, 5 M against 1 M", 1.2, "", "", _growth("table_1m", "table_5m")),
    Target("A batch of recent keys, 20 M against 5 M", 1.2, "", "", _growth("table_5m", "table_20m")),
    Target(
        "CPU seconds of a first load, 1 M, against the script",
        1.5,
        "",
        "6.76",
        Ratio("table_1m", FIRST_LOAD, figure="cpu_seconds"),
    ),
    Target("Driver of 4 GiB: 20 M rows, peak of all processes", 6, "GiB", "", _finished("table_20m")),
    Target("Driver of 4 GiB: one file of 2 GiB, peak of all processes", 6, "GiB", "", _finished("one_large_file")),
    Target("Driver of 4 GiB: 50,000 files of 1 kB, peak of all processes", 6, "GiB", "", _finished("small_files")),
    Target("1,200 columns, 1,000 rows, first batch", 60, "s", "240 s for 3 rows", _seconds("wide", FIRST_LOAD)),
    Target("1,200 columns, 1,000 rows, second batch", 60, "s", "did not finish", _seconds("wide", "10 % scattered")),
    Target(
        "Hudi Merge on Read against Delta, 1 % scattered keys",
        1.5,
        "",
        "",
        Ratio("hudi", SCATTERED, "alluvium", system="alluvium_hudi_mor"),
    ),
)


@dataclass(frozen=True)
class Plot:
    """What a plot shows.

    Attributes:
        name: of its file, without suffix.
        title: above it.
        kind: bars (by category and series) or lines (a value for each batch).
        axis: label of the values' axis.
        categories: of the bars.
        series: values by name; None where there is none.
        is_logarithmic: scale of the values.
    """

    name: str
    title: str
    kind: str
    axis: str
    categories: tuple[str, ...]
    series: dict[str, list[float | None]]
    is_logarithmic: bool = False

    @property
    def digest(self) -> str:
        """Of all that is drawn; the file has it."""
        from hashlib import sha256

        text = json.dumps([self.title, self.kind, self.axis, self.categories, self.series, self.is_logarithmic])
        return sha256(text.encode()).hexdigest()


def plots(results: Results) -> list[Plot]:
    """The plots of the report."""
    return [*_before_and_after(results), *_of_formats(results), *_of_scenarios(results), *_growths(results)]


def _before_and_after(results: Results) -> Iterator[Plot]:
    steps = []
    for step in results.before.get("steps", ()):
        ratio = results.ratio(
            step["scenario"], "alluvium", step["against"], step["phase"], format_name=step.get("format", "json")
        )
        if ratio and step["against_seconds"] and not step.get("is_of_other_machine"):
            steps.append((step["what"], step["alluvium_seconds"] / step["against_seconds"], ratio.median))
    if steps:
        names, before, after = zip(*steps, strict=True)
        series: dict[str, list[float | None]] = {"before": [*before], "after": [*after]}
        yield Plot(
            "before_after",
            "Alluvium against the script, or against decode to Delta",
            "bars",
            "ratio of seconds",
            names,
            series,
        )


def _of_formats(results: Results) -> Iterator[Plot]:
    cases = results.scenarios.get("formats", {}).get("cases", [])
    formats = [case["format"] for case in cases]
    if not formats:
        return
    series: dict[str, list[float | None]] = {}
    for system in results.scenarios["formats"]["scenario"]["systems"]:
        found = [spread(results.typical("formats", system, FIRST_LOAD, "cpu_seconds", name)) for name in formats]
        events = [case["landed"][0]["events"] for case in cases]
        series[system] = [one and one.median / count * 1e6 for one, count in zip(found, events, strict=True)]
    yield Plot("formats", "First load by format", "bars", "CPU seconds per million events", tuple(formats), series)


def _of_scenarios(results: Results) -> Iterator[Plot]:
    for name, result in results.scenarios.items():
        if len(result["cases"]) != 1:
            continue
        many = [phase["name"] for phase in result["scenario"]["phases"] if phase["batches"] >= MANY_BATCHES]
        few = [phase for phase in results.phases(name) if phase not in many]
        own = result["scenario"]["systems"]
        series: dict[str, list[float | None]] = {}
        for system in own:
            found = [
                None if results.wrong(name, system, phase) else spread(results.typical(name, system, phase, "seconds"))
                for phase in few
            ]
            series[system] = [one and one.median for one in found]
        if len(few) > 1:
            yield Plot(name, result["scenario"]["shows"], "bars", "seconds per batch", tuple(few), series, True)
        for phase in many:
            lines: dict[str, list[float | None]] = {}
            for system in own:
                rounds = results.values(name, system, phase, "seconds")
                if rounds and not results.wrong(name, system, phase):
                    lines[system] = [median(batch) for batch in zip(*rounds, strict=False)]
            yield Plot(f"{name}_batches", f"{phase}, batch by batch", "lines", "seconds per batch", (), lines, True)


def _growths(results: Results) -> Iterator[Plot]:
    sizes = [name for name in ("table_1m", "table_5m", "table_20m") if name in results.scenarios]
    if len(sizes) < 2:
        return
    titles = tuple(f"{results.scenarios[name]['scenario']['shape']['rows'] / 1e6:g} M rows" for name in sizes)
    series: dict[str, list[float | None]] = {}
    for system in ("alluvium", "merge_guarded"):
        found = [spread(results.typical(name, system, RECENT, "seconds")) for name in sizes]
        series[system] = [one and one.median for one in found]
    yield Plot("growth", "A batch of 10,000 recent keys", "bars", "seconds per batch", titles, series)
