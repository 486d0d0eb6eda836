"""`make compare-targets`: the source systems built on every target and in every format; the same rows, or it fails.

Each way has tables of its own over the same landed files, and lands and builds twice: the first load of each system,
then all later ones. What the views, histories and marts hold is compared by a digest a relation; the seconds are told.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alluvium.runtime import profile, session
from alluvium.server import hosting
from benchmarks.project import working_folder
from scripts import demo

PROJECT = demo.PROJECT
SCHEMAS = ("silver", "gold")
# The number of a batch is that of a run, a snapshot ends a row that is gone when it finds that, and the rest is Hudi's.
OF_BUILD = ("_cdc_batch", "dbt_valid_to", "_cdc_record_key", "_hoodie_")
# What each run did.
LEDGERS = "cdc_"
# Their views show the types that are declared, which Hudi does not have all of.
STATES = "_state"

Digests = dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Way:
    """How the project is built.

    Attributes:
        target: of the profile.
        file_format: of states, histories and marts.
        table_type: of Hudi's tables; empty for Delta.
    """

    target: str
    file_format: str
    table_type: str = ""

    @property
    def name(self) -> str:
        """As it is told: ``thrift hudi_mor``."""
        return f"{self.target} {'_'.join(filter(None, (self.file_format, self.table_type)))}"


WAYS = (
    Way("local", "delta"),
    Way("local", "hudi", "cow"),
    Way("local", "hudi", "mor"),
    Way("thrift", "delta"),
    Way("thrift", "hudi", "mor"),
)


def main(arguments: list[str] | None = None) -> int:
    """Builds and compares; returns 1 when a way has other rows than the first one, or does not build."""
    parser = argparse.ArgumentParser(prog="benchmarks.targets", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--systems", nargs="+", choices=demo.SYSTEMS, default=list(demo.SYSTEMS))
    parser.add_argument("--ways", nargs="+", choices=[way.name for way in WAYS], default=[way.name for way in WAYS])
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where to work; the system's temporary directory")
    parser.add_argument("--digests", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.digests:
        options.digests.write_text(json.dumps(digests()), encoding="utf-8")
        return 0
    with working_folder("targets", options.directory) as folder:
        return _compared([way for way in WAYS if way.name in options.ways], options.systems, folder)


def _compared(ways: Sequence[Way], systems: Sequence[str], folder: Path) -> int:
    first: Digests = {}
    status = 0
    for way in ways:
        seconds, found = built(way, systems, folder)
        first = first or found
        differing = sorted(name for name in first.keys() | found.keys() if first.get(name) != found.get(name))
        rows = sum(count for count, _ in found.values())
        outcome = f"differs: {', '.join(differing)}" if differing else "equal"
        figures = "  ".join(f"{one:5.0f} s" for one in seconds)
        print(f"{way.name:<16} {figures}  {len(found):>4} relations  {rows:>7,} rows  {outcome}", flush=True)
        status = status or bool(differing) or not found
    return int(status)


def built(way: Way, systems: Sequence[str], folder: Path) -> tuple[list[float], Digests]:
    """Seconds of both builds, and what the relations hold.

    Args:
        way: to build.
        systems: names of their sources.
        folder: for landed files and tables.

    Raises:
        subprocess.CalledProcessError: a build fails.
    """
    home = folder / way.name.replace(" ", "_")
    environment = os.environ | {
        "ALLUVIUM_FILE_FORMAT": way.file_format,
        "ALLUVIUM_HOME": str(home),
        "ALLUVIUM_LANDING": str(folder / "landing"),
        "ALLUVIUM_THRIFT_PORT": str(hosting.free_port()),
        "DBT_TARGET_PATH": str(home / "target"),
        "DBT_LOG_PATH": str(home / "logs"),
    }
    variables = {"hudi_table_type": way.table_type} if way.table_type else {}
    selected = ("--select", *(f"@source:{system}" for system in systems))
    build = ("dbt", "build", "--quiet", "--target", way.target, "--vars", json.dumps(variables), *selected)
    seconds = []
    shutil.rmtree(folder / "landing", ignore_errors=True)
    with served(way.target, environment):
        for is_later in (False, True):
            land(folder / "landing", systems, is_later=is_later)
            started = time.monotonic()
            run(environment, *build)
            seconds.append(time.monotonic() - started)
    file = home / "digests.json"
    run(environment, "python", "-m", "benchmarks.targets", "--digests", str(file))
    return seconds, {name: (count, digest) for name, (count, digest) in json.loads(file.read_text()).items()}


def digests() -> Digests:
    """Count and digest of the rows of each relation, whatever their order, in the session of the embedded target."""
    target = profile.session_target(PROJECT, target="local")
    spark = session.get_or_create(target.parameters, PROJECT)
    found = {}
    for schema in SCHEMAS:
        for (name,) in spark.sql(f"show tables in {schema}").select("tableName").collect():
            if name.startswith(LEDGERS) or name.endswith(STATES):
                continue
            columns = [column for column in spark.table(f"{schema}.{name}").columns if not column.startswith(OF_BUILD)]
            texts = ", ".join(f"cast(`{column}` as string)" for column in sorted(columns))
            (row,) = spark.sql(f"""
                select count(*), sum(cast(conv(left(md5(to_json(array({texts}))), 15), 16, 10) as decimal(20, 0)))
                from {schema}.`{name}`
            """).collect()
            found[f"{schema}.{name}"] = (row[0], str(row[1]))
    return found


def land(landing: Path, systems: Collection[str], *, is_later: bool) -> None:
    """Put the sample files of systems where a sink would: the first ones, or the later ones."""
    for file, place in demo.sample_files(is_later=is_later):
        target = landing / place
        if place.parts[0] in systems and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            # The same for every way: a file's time is in the tables.
            os.utime(target, (1_700_000_000, 1_700_000_000))


@contextmanager
def served(target: str, environment: dict[str, str], project: Path = PROJECT) -> Iterator[None]:
    """Have a server of the project's for as long as needed, if the target of the profile wants one.

    Raises:
        subprocess.CalledProcessError: it does not start or stop.
    """
    if target != "thrift":
        yield
        return
    run(environment, "alluvium", "serve", "start", project=project)
    try:
        yield
    finally:
        run(environment, "alluvium", "serve", "stop", project=project)


def run(environment: dict[str, Any], program: str, *arguments: str, project: Path = PROJECT) -> None:
    """Run a program of this environment in a project, and show what it said if it fails.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    executable = Path(sys.executable).parent / program
    ended = subprocess.run(
        [str(executable), *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        print(ended.stdout[-6000:] + ended.stderr[-4000:], file=sys.stderr)
        ended.check_returncode()


if __name__ == "__main__":
    sys.exit(main())
