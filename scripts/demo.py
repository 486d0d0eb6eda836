"""The source systems on their samples: `make demo`, and `make demo-changes` with the later batches of files.

Lands sample files as a sink would, runs ``dbt build`` in this process, and tells what came out of it. The figures are
read from the tables (file ledger, change logs, states), never counted on the way. With ``TARGET=thrift`` all of it goes
through a Thrift server, which runs already or is started for the demo.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from alluvium import AlluviumError
from alluvium.query.engines import engine_of
from alluvium.runtime import profile
from alluvium.server import hosting

if TYPE_CHECKING:
    from alluvium.query.engine import Engine
    from alluvium.runtime.profile import Target

PROJECT = Path(__file__).parent.parent
# The target of the profile whose settings a server has.
EMBEDDED = "local"
SAMPLES = PROJECT / "samples"
CORPUS = SAMPLES / "pg-envelope-json-schemas"
# What the first demo lands of the shop: until a schema change in the middle of the capture.
FIRST_CHECKPOINT = "01-before-ddl"
CONFLUENT_NAME = re.compile(r"(.+)\+(\d+)\+(\d+)\.[^/]+$")
LENSES_NAME = re.compile(r"(.+)\((\d+)_(\d+)\)\.[^/]+$")
# Sources in the order of docs/systems/README.md.
SYSTEMS = {
    "pagila_jdbc": "Pagila, query-based: PostgreSQL, Kafka Connect JDBC",
    "northwind": "Northwind outbox: PostgreSQL, Debezium",
    "erp": "Customers of an ERP: MariaDB, Debezium",
    "moma": "MoMA: PostgreSQL, Debezium, Avro",
    "sales": "Pagila sales: Kafka, Avro",
    "pagila": "Pagila, log-based: PostgreSQL, Debezium, Parquet",
    "storefront": "Storefront: MongoDB and service events",
    "shop": "Web shop: PostgreSQL, Debezium, a recording",
}
# Unit tests say nothing of the samples.
BUILD = ("build", "--exclude-resource-type", "unit_test")
CHANGES_COMMAND = ("make demo-changes{variable}", "land the rest of the sample files and see the tables move")
# In its place where all files have landed.
LEDGER_COMMAND = (
    '.venv/bin/dbt show{target} --inline "select table_name, lines, inserted, updated, deleted'
    ' from silver.cdc_run_ledger order by recorded_at desc" --output json',
    "what the last runs did, table by table",
)
ROW_COMMAND = (
    '.venv/bin/dbt show{target} --inline "select order_no, status, _cdc_file_path, _cdc_line'
    ' from silver.slv_shop__orders where order_no = 9" --output json',
    "a row, with the file and line that made it",
)
DOCS_COMMAND = (
    ".venv/bin/dbt docs generate{target} && .venv/bin/dbt docs serve",
    "lineage and the meaning of every column",
)


@dataclass
class Entity:
    """What the tables say of one entity.

    Attributes:
        name: ``<source>.<entity>``.
        files: files in the change log.
        lines: lines or records of those files.
        events: row changes and truncates among the lines.
        rejected: rejected lines.
        control: tombstones, markers and other counted lines.
        rows: living rows.
        deleted: tombstones in the state.
    """

    name: str
    files: int = 0
    lines: int = 0
    events: int = 0
    rejected: int = 0
    control: int = 0
    rows: int = 0
    deleted: int = 0


@dataclass
class Build:
    """One dbt run: did it succeed, how long each model took (seconds by model), tests passed, were files read.

    `checks` are the tests passed by source: a test of a mart counts for every source that the mart is made of.
    """

    success: bool
    seconds: float
    model_seconds: dict[str, float] = field(default_factory=dict)
    tests: int = 0
    checks: Counter[str] = field(default_factory=Counter)
    found_files: bool = False
    errors: list[str] = field(default_factory=list)


def landing_directory() -> Path:
    """Where the demo's files land: ALLUVIUM_LANDING, else landing/ in the project."""
    return Path(os.environ.get("ALLUVIUM_LANDING", PROJECT / "landing"))


def sample_files(*, is_later: bool) -> Iterator[tuple[Path, Path]]:
    """The sample files to have landed, each with its place below the landing directory.

    Args:
        is_later: with the files behind the first load of each source.
    """
    for file in sorted((CORPUS / "bronze").rglob("*")):
        if file.is_file() and (is_later or landed_by(file, FIRST_CHECKPOINT)):
            yield file, Path("shop") / file.relative_to(CORPUS / "bronze")
    for source in sorted(folder.parent.name for folder in SAMPLES.glob("*/expected")):
        for load in loads(source) if is_later else loads(source)[:1]:
            for file in sorted(path for path in load.rglob("*") if path.is_file()):
                yield file, Path(source) / file.relative_to(load)


def loads(source: str) -> list[Path]:
    """Folders of the samples of a source system, `<number>-<what>`, in the order in which they land."""
    numbered = [folder for folder in (SAMPLES / source).iterdir() if folder.name.partition("-")[0].isdigit()]
    return sorted(numbered, key=lambda folder: int(folder.name.partition("-")[0]))


def all_landed() -> bool:
    """Whether every sample file lies in the landing directory."""
    return all((landing_directory() / place).exists() for _, place in sample_files(is_later=True))


def landed_by(file: Path, checkpoint: str) -> bool:
    """Whether the sink had written a sample of the shop by a checkpoint of its capture."""
    checkpoints = json.loads((CORPUS / "oracle" / "checkpoints.json").read_text())
    ends = next(entry["end_offsets"] for entry in checkpoints if entry["checkpoint"] == checkpoint)
    topic, partition, offset = _named(file)
    return int(offset) < int(ends.get(f"{topic}:{partition}", 0))


def _named(file: Path) -> tuple[str, str, str]:
    match = CONFLUENT_NAME.match(file.name) or LENSES_NAME.match(file.name)
    if match is None:
        raise AlluviumError(f"{file} has no offset in its name: the samples are not those of this version.")
    topic, partition, offset = match.groups()
    return topic, partition, offset


def land(*, is_later: bool) -> int:
    """Copy the sample files that are not there yet, with `is_later` those of the later loads, too; returns how many."""
    landed = 0
    for file, place in sample_files(is_later=is_later):
        target = landing_directory() / place
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            # A sink's object appears whole or not at all; so does this one.
            shutil.copyfile(file, target.with_name("." + target.name))
            target.with_name("." + target.name).rename(target)
            landed += 1
    return landed


def run_dbt(console: Console, *arguments: str) -> Build:
    """Run dbt in this process and show a line for each model as it ends."""
    from dbt.cli.main import dbtRunner

    started = time.monotonic()
    build = Build(success=False, seconds=0)

    def on_event(event: Any) -> None:
        if event.info.name == "LogMessage" or event.info.name == "JinjaLogInfo":
            message = str(event.info.msg)
            build.found_files |= bool(re.search(r": \d+ new files?,", message))
            if ": " in message:
                console.print(f"  {message}", style="dim", highlight=False)
        elif event.info.name == "LogTestResult":
            build.tests += event.data.status == "pass"
        elif event.info.name == "LogModelResult":
            name = event.data.description.split()[-1].split(".")[-1]
            build.model_seconds[name] = event.data.execution_time
            console.print(f"  {name:<40} {event.data.execution_time:6.1f} s", highlight=False)
        elif event.info.level == "error" and event.info.msg.strip():
            build.errors.append(event.info.msg.strip())

    outcome = dbtRunner(callbacks=[on_event]).invoke(
        [*arguments, "--quiet", "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    )
    build.success = outcome.success
    build.checks = checks_by_source(getattr(outcome.result, "results", []))
    build.seconds = time.monotonic() - started
    if outcome.exception is not None:
        build.errors.append(str(outcome.exception))
    return build


def checks_by_source(results: Iterable[Any]) -> Counter[str]:
    """How many tests have passed, by the sources that what they test is made of."""
    parents = {result.node.unique_id: result.node.depends_on_nodes for result in results}

    def sources(node: str) -> set[str]:
        kind, _, name = node.split(".")[:3]
        return {name} if kind == "source" else set().union(*map(sources, parents.get(node, ())))

    passed = (result for result in results if result.node.resource_type == "test" and result.status == "pass")
    return Counter(source for result in passed for source in sources(result.node.unique_id))


def entities(engine: Engine) -> list[Entity]:
    """What the ledger and the states say of each entity that has a change log."""
    found = [
        Entity(change_log.split(".stg_")[-1].replace("__", "."), *figures)
        for change_log, *figures in engine.rows("""
            select
                change_log,
                count(file_path) as files,
                sum(line_count) as lines,
                sum(change_count) as events,
                sum(rejected_count) as rejected,
                sum(control_count) as control
            from silver.cdc_file_ledger
            group by change_log
            order by change_log
        """)
    ]
    tables = {name for _, name, _ in engine.rows("show tables in silver")}
    states = {entity.name: f"slv_{entity.name.replace('.', '__')}_state" for entity in found}
    # Grouped once, above the union: a shuffle in all, not one per state.
    rows = " union all ".join(
        f"select '{name}' as name, _is_deleted from silver.{state}" for name, state in states.items() if state in tables
    )
    counted = f"""
        select name, count_if(not _is_deleted) as living, count_if(_is_deleted) as deleted from ({rows}) group by name
    """
    counts = {name: figures for name, *figures in engine.rows(counted)} if rows else {}
    for entity in found:
        if entity.name in counts:
            entity.rows, entity.deleted = counts[entity.name]
    return found


def show_entities(console: Console, now: list[Entity], before: dict[str, Entity], build: Build) -> None:
    """A line per entity; a figure that moved since the run before is shown with its difference."""
    table = Table(title="What came in, and what came out", title_justify="left", box=None, pad_edge=False)
    for heading in ("entity", "files", "lines", "events", "control", "rejected", "rows", "deleted", "seconds"):
        table.add_column(heading, justify="left" if heading == "entity" else "right", no_wrap=True)
    for entity in now:
        old = before.get(entity.name)
        figures = [
            _moved(getattr(entity, name), getattr(old, name) if old else None)
            for name in ("files", "lines", "events", "control", "rejected", "rows", "deleted")
        ]
        suffix = entity.name.replace(".", "__")
        seconds = sum(build.model_seconds.get(model, 0.0) for model in (f"stg_{suffix}", f"slv_{suffix}_state"))
        table.add_row(entity.name, *figures, f"{seconds:.1f}")
    console.print(table)


def show_systems(console: Console, now: list[Entity], build: Build) -> None:
    """A line per source system."""
    table = Table(title="\nThe source systems", title_justify="left", box=None, pad_edge=False)
    for heading in ("source", "system", "files", "events", "rows", "checks passed"):
        table.add_column(heading, justify="left" if heading in ("source", "system") else "right", no_wrap=True)
    for source, system in SYSTEMS.items():
        own = [entity for entity in now if entity.name.partition(".")[0] == source]
        if own:
            sums = (sum(getattr(entity, name) for entity in own) for name in ("files", "events", "rows"))
            checks = f"{build.checks[source]:,}" if build.tests else ""
            table.add_row(source, system, *(f"{figure:,}" for figure in sums), checks)
    console.print(table)


def _moved(now: int, before: int | None) -> str:
    return f"{now:,}" if before is None or before == now else f"{now:,} ({now - before:+,})"


def show_marts(console: Console, engine: Engine) -> None:
    """The short table of results: sales by region, and the nationalities with the most artworks."""
    sales = Table(title="\ngold.agg_sales_by_region", title_justify="left", box=None, pad_edge=False)
    for heading in ("region", "orders", "items", "quantity", "revenue"):
        sales.add_column(heading, justify="left" if heading == "region" else "right")
    for region, *figures in engine.rows("""
        select region, order_count, item_count, quantity, revenue from gold.agg_sales_by_region order by region
    """):
        sales.add_row(repr(region), *(f"{figure:,}" for figure in figures))
    console.print(sales)
    artists = Table(title="\ngold.dim_artist, by nationality", title_justify="left", box=None, pad_edge=False)
    for heading in ("nationality", "artists", "artworks"):
        artists.add_column(heading, justify="left" if heading == "nationality" else "right")
    for nationality, *figures in engine.rows("""
        select nationality, count(*) as artists, sum(artwork_count) as artworks
        from gold.dim_artist group by nationality order by artworks desc, artists desc, nationality limit 5
    """):
        artists.add_row(nationality or "unknown", *(f"{figure:,}" for figure in figures))
    console.print(artists)


def figures_file() -> Path:
    """The figures of the last complete run, kept to show what moved."""
    return Path(os.environ.get("ALLUVIUM_HOME", PROJECT / ".alluvium")) / "demo.json"


def last_figures() -> dict[str, Entity]:
    """Figures of the last complete run by entity; empty when there was none."""
    if not figures_file().exists():
        return {}
    return {entry["name"]: Entity(**entry) for entry in json.loads(figures_file().read_text())}


@contextmanager
def served(target: Target, console: Console) -> Iterator[bool]:
    """Have a server for a target that needs one; yields whether one goes on when the demo has ended.

    Raises:
        AlluviumError: it does not start, or the one that runs is not the target's.
    """
    if isinstance(target, profile.SessionTarget):
        yield False
        return
    settings = profile.session_target(PROJECT, PROJECT, EMBEDDED)
    running = hosting.Place(settings).address()
    if running is not None:
        if running.port != target.port:
            raise AlluviumError(
                f"The server listens at {running}, and the target {target.name} reaches {target.host}:{target.port}: "
                f"set ALLUVIUM_THRIFT_PORT={running.port}."
            )
        yield True
        return
    named = ("--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--target", EMBEDDED)
    started = hosting.start(settings, target.host, target.port, named)
    console.print(f"A Thrift server listens at {started}, until the demo has ended.", style="dim", highlight=False)
    try:
        yield False
    finally:
        hosting.stop(settings)


def main(arguments: list[str]) -> int:
    """Run the demo; `arguments` are those of the command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="demo", description="Land and build the source systems.")
    parser.add_argument("changes", nargs="?", choices=["changes"], help="with the files behind the first load of each")
    parser.add_argument("--target", help="of the profile; its own choice by default")
    options = parser.parse_args(arguments)
    console = Console()
    # A file or a pipe has no width of its own, and rich would cut the table to 80 columns.
    console.width = max(console.width, 120) if not console.is_terminal else console.width
    target = profile.read_target(PROJECT, PROJECT, options.target)
    with served(target, console) as goes_on:
        return run(console, target, is_later=bool(options.changes), goes_on=goes_on)


def run(console: Console, target: Target, *, is_later: bool, goes_on: bool) -> int:
    """Land, build and show; returns the exit status.

    Args:
        console: to print to.
        target: to build with.
        is_later: with the files behind the first load of each source.
        goes_on: whether the target's server has the tables when the demo has ended.
    """
    started = time.monotonic()
    before = last_figures()
    landed = land(is_later=is_later)
    console.print(
        f"Landed {landed} new files in {landing_directory()}." if landed else "No file landed since the last run."
    )

    # Without news the models say so themselves; their tests have passed on the same rows before.
    complete = not landed and bool(before)
    console.print("dbt run" if complete else "dbt build", style="bold")
    build = run_dbt(console, *(["run"] if complete else BUILD), "--target", target.name)
    if complete and build.success and build.found_files:
        # A run before this one was stopped after it had landed files. Their rows have to be tested too.
        complete = False
        build = run_dbt(console, *BUILD, "--target", target.name)
    if not build.success:
        console.print("dbt failed:", style="bold red")
        for error in build.errors:
            console.print("  " + error[:2000], highlight=False, markup=False)
        return 1

    with engine_of(target, may_write=False, is_quiet=False, keeps_output=False) as engine:
        now = entities(engine)
        console.print()
        show_entities(console, now, before, build)
        show_systems(console, now, build)
        show_marts(console, engine)
    figures_file().write_text(json.dumps([entity.__dict__ for entity in now]))
    if complete:
        console.print("Nothing new: every file is applied.", style="bold")
    else:
        console.print(f"{build.tests} tests passed.", style="bold")
    console.print(f"{time.monotonic() - started:.0f} seconds.")
    console.print("\nNext:")
    named = {
        "target": f" --target {target.name}" if goes_on else "",
        "variable": "" if isinstance(target, profile.SessionTarget) else f" TARGET={target.name}",
    }
    for command, purpose in (LEDGER_COMMAND if all_landed() else CHANGES_COMMAND, ROW_COMMAND, DOCS_COMMAND):
        typed = command.format(**named)
        console.print(f"  [bold]{typed}[/bold]\n      {purpose}", highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AlluviumError as error:
        sys.exit(f"demo: {error}")
