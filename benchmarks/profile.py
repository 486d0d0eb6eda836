"""`make profile`: where the seconds of a first load, a small batch and an idle run go, by statement.

One table with its five models, in a process that has just begun and on a server that has built another table before.
The seconds are those of dbt's own log. What Spark worked for a statement is in its event log, which tools like Spark's
history server read too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from alluvium.server import hosting
from benchmarks import generator, runner
from benchmarks.many_entities import MODELS
from benchmarks.project import ENTITY, SOURCE, working_folder, write_project
from benchmarks.statements import Statement, statements
from benchmarks.targets import run, served

RESULT = Path(__file__).with_name("results") / "profile.json"
WARM_UP = "warm_up"
_LAST_SETTING = '        spark.ui.enabled: "false"\n'


class Job(NamedTuple):
    """A job of Spark's.

    Attributes:
        started: seconds since the epoch.
        ended: seconds since the epoch.
        cpu: seconds of processor time of its tasks.
    """

    started: float
    ended: float
    cpu: float


@dataclass
class Stage:
    """A part of a step.

    Attributes:
        node: what sent its statements: a model by its kind, the hooks, dbt itself.
        verb: the first words of the statements, empty for what passes between statements.
        count: how many statements.
        seconds: of wall time.
        job_seconds: the part of them in which Spark ran a job; the rest is planning, commits, the catalog.
        cpu: seconds of processor time of the jobs' tasks.
    """

    node: str
    verb: str
    count: int = 0
    seconds: float = 0.0
    job_seconds: float = 0.0
    cpu: float = 0.0


def jobs(events: Iterable[str]) -> list[Job]:
    """The jobs in the lines of an event log of Spark's (3.5), in the order of their ends."""
    begun, of_stage, cpu = dict[int, float](), dict[int, int](), dict[int, float]()
    found = []
    for line in events:
        event = json.loads(line)
        match event["Event"]:
            case "SparkListenerJobStart":
                begun[event["Job ID"]] = event["Submission Time"] / 1000
                of_stage |= dict.fromkeys(event["Stage IDs"], event["Job ID"])
            case "SparkListenerTaskEnd":
                job = of_stage[event["Stage ID"]]
                cpu[job] = cpu.get(job, 0.0) + event.get("Task Metrics", {}).get("Executor CPU Time", 0) / 1e9
            case "SparkListenerJobEnd":
                job = event["Job ID"]
                found.append(Job(begun[job], event["Completion Time"] / 1000, cpu.get(job, 0.0)))
    return found


def stages(sent: Sequence[Statement], ran: Sequence[Job], started: float, ended: float) -> list[Stage]:
    """The parts of a step, which add up to its seconds; dbt has had one thread.

    Args:
        sent: its statements.
        ran: jobs, with those of other steps.
        started: of the process, in seconds since the epoch.
        ended: of the process, likewise.
    """
    midnight = started // 86400 * 86400
    first = sent[0].started + midnight
    found = {("start and parsing", ""): Stage("start and parsing", "", 0, first - started)}
    between = found["between statements", ""] = Stage("between statements", "")
    between.seconds = ended - first
    for statement in sent:
        stage = found.setdefault((statement.kind, statement.verb), Stage(statement.kind, statement.verb))
        begin, end = statement.started + midnight, statement.ended + midnight
        own = sorted(job for job in ran if begin <= job.started < end)
        stage.count += 1
        stage.seconds += end - begin
        between.seconds -= end - begin
        stage.cpu += sum(job.cpu for job in own)
        covered = begin
        for job in own:
            stage.job_seconds += max(0.0, job.ended - max(job.started, covered))
            covered = max(covered, job.ended)
    return list(found.values())


def table(title: str, found: Sequence[Stage]) -> str:
    """The parts that took at least a hundredth of the whole, by what sent them, the longest first."""
    whole = sum(stage.seconds for stage in found)
    lines = [f"{title + f': {whole:.1f} s':<52}{'statements':>11}{'s':>8}{'in jobs':>9}{'cpu':>8}"]

    def line(name: str, parts: Sequence[Stage]) -> str:
        figures = (sum(getattr(part, field) for part in parts) for field in ("seconds", "job_seconds", "cpu"))
        seconds, job_seconds, cpu = figures
        return f"{name[:52]:<52}{sum(part.count for part in parts):>11}{seconds:>8.1f}{job_seconds:>9.1f}{cpu:>8.1f}"

    by_node: dict[str, list[Stage]] = {}
    for stage in found:
        by_node.setdefault(stage.node, []).append(stage)
    for node, parts in sorted(by_node.items(), key=lambda item: -sum(part.seconds for part in item[1])):
        lines.append(line(node, parts))
        longest = sorted(parts, key=lambda part: -part.seconds)
        lines += [line(f"  {part.verb}", [part]) for part in longest if part.verb and part.seconds >= whole / 100]
    return "\n".join(lines)


def steps(
    folder: Path, environment: dict[str, str], target: str, entity: str, rows: int
) -> Iterator[tuple[str, float, float, list[Statement]]]:
    """Land and build; yields name, start, end and statements of each step, whose dbt is a process of its own."""
    stream = generator.Stream(generator.Shape(rows), folder / "landing" / entity, entity)
    for step, _ in generator.steps(stream):
        logs = folder / f"{entity}, {step}"
        started = time.time()
        run(
            environment | {"DBT_LOG_PATH": str(logs)},
            *("dbt", "--log-file-max-bytes", "0", "--quiet", "build", "--threads", "1"),
            *("--target", target, "--select", f"source:{SOURCE}.{entity}+"),
            project=folder / "project",
        )
        sent = list(statements((logs / "dbt.log").read_text(encoding="utf-8")))
        yield step, started, time.time(), sent


def profile(folder: Path, target: str, rows: int) -> dict[str, list[Stage]]:
    """The parts of each step on one target of the profile: ``local`` begins a JVM each, ``thrift`` has one."""
    events = folder / "events"
    events.mkdir(parents=True)
    write_project(folder / "project", folder / "landing", (ENTITY, WARM_UP), MODELS)
    settings = folder / "project" / "profiles.yml"
    text = settings.read_text(encoding="utf-8")
    logged = f'        spark.eventLog.enabled: "true"\n        spark.eventLog.dir: "{events.as_uri()}"\n'
    settings.write_text(text.replace(_LAST_SETTING, _LAST_SETTING + logged), encoding="utf-8")
    environment = os.environ | {
        "ALLUVIUM_HOME": str(folder / "home"),
        "ALLUVIUM_THRIFT_PORT": str(hosting.free_port()),
    }
    with served(target, environment, folder / "project"):
        if target == "thrift":
            for _ in steps(folder, environment, target, WARM_UP, rows):
                pass
        done = list(steps(folder, environment, target, ENTITY, rows))
    ran = [job for log in events.iterdir() for job in jobs(log.read_text(encoding="utf-8").splitlines())]
    if not ran:
        raise SystemExit(f"make profile: no job in Spark's event log below {events}")
    return {step: stages(sent, ran, started, ended) for step, started, ended, sent in done}


def main(arguments: list[str] | None = None) -> int:
    """Build and print the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.profile", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=100_000, help="keys of the first load")
    parser.add_argument("--targets", nargs="+", choices=("local", "thrift"), default=["local", "thrift"])
    parser.add_argument("--json", type=Path, default=RESULT, metavar="FILE", help="where the figures are written")
    parser.add_argument("--keep", action="store_true", help="keep tables, dbt's logs and Spark's event logs")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = runner.environment() | {"rows": options.rows}
    with working_folder("profile", keep=options.keep) as folder:
        for target in options.targets:
            found = profile(folder / target, target, options.rows)
            for step, parts in found.items():
                print(table(f"{target}, {step}", parts), end="\n\n", flush=True)
            report[target] = {step: [asdict(stage) for stage in parts] for step, parts in found.items()}
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
