"""`make guards`: what each guard of a change log costs, in processor time per event.

A guard's macro is replaced by one that does nothing, and the log's query runs with it and without it, in turns, in one
warm process. Nothing is written. The costs do not add up: Spark shares what several guards read.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import alluvium_build, runner
from benchmarks.generator import ENTITY, Shape, Stream
from benchmarks.measure import cpu_seconds
from benchmarks.project import CHANGE_LOG, REPOSITORY, working_folder
from benchmarks.summary import ALL_GUARDS, SCRIPT, Results
from benchmarks.systems.base import Place
from benchmarks.systems.dbt_builds import Alluvium
from benchmarks.systems.records import events_sql, read_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = "cast(null as array<string>)"
# What each macro returns without the guard.
GUARDS: dict[str, dict[str, str]] = {
    "line numbers": {"_line_number": "record_order"},
    "one record a line": {
        "_with_line_length": "concat('[', value, ']')",
        "_is_malformed": "lines[0] is null",
        "_with_quoted_constants": "value",
    },
    "UTF-8": {"_is_invalid_utf8": "false"},
    "unknown and absent columns": {"_unknown_columns": NOTHING, "_absent_columns": NOTHING},
    "unavailable values": {"_unavailable_columns": NOTHING},
    "values that do not fit": {"_misfit_columns": ""},
    "messages of other tools": {"_foreign_message": "verdict"},
    "position": {"_source_position": "source_lsn", "_cdc_position": "source_lsn"},
    "lineage from the file's name": {"_part_of_name": "cast(null as bigint)"},
}
# No file of the benchmark is a container.
WITHOUT_CONTAINERS = {"_reads_containers": ""}
RESULT = REPOSITORY / "benchmarks" / "results" / "guards.json"


def replaced(macros: Path, returns: Mapping[str, str]) -> None:
    """Replaces the bodies of macros.

    Args:
        macros: folder of a project's macros.
        returns: what each macro returns from now on; an empty text is falsy in Jinja, too.

    Raises:
        ValueError: a macro is not there.
    """
    for name, text in returns.items():
        pattern = re.compile(rf"({{% macro {name}\([^\n]*\)) -?%}}.*?{{%-? endmacro %}}", re.DOTALL)
        body = rf"\1 %}}{{{{ return({json.dumps(text)}) }}}}{{% endmacro %}}"
        found = 0
        for path in macros.rglob("*.sql"):
            sql, count = pattern.subn(body, path.read_text(encoding="utf-8"))
            path.write_text(sql, encoding="utf-8")
            found += count
        if found != 1:
            raise ValueError(f"guards: {found} macros are named {name}")


def compiled(project: Path, returns: Mapping[str, str]) -> str:
    """The log's query over all files, with macros replaced.

    Args:
        project: directory of a benchmark's project, whose macros are replaced.
        returns: as `replaced` takes it.

    Raises:
        RuntimeError: dbt fails.
    """
    shutil.rmtree(project / "macros")
    shutil.copytree(REPOSITORY / "macros", project / "macros")
    replaced(project / "macros", returns)
    with redirect_stdout(io.StringIO()):  # dbt (1.11) shows the SQL, `--quiet` or not
        alluvium_build.invoke(project, "compile", "--no-introspect", "--select", CHANGE_LOG)
    found = (project / "target" / "compiled").rglob(f"{CHANGE_LOG}.sql")
    return next(found).read_text(encoding="utf-8")


def queries(project: Path, location: Path, shape: Shape, session: SparkSession) -> dict[str, str]:
    """The query with all guards, without each of them, and the script's over the same files.

    Args:
        project: directory of a benchmark's project.
        location: folder of the files.
        shape: of the data.
        session: gets a view of the lines for the script.
    """
    files = sorted(str(path) for path in location.rglob("*.json"))
    read_files(session, shape, files).createOrReplaceTempView("records")
    found = {ALL_GUARDS: compiled(project, WITHOUT_CONTAINERS)}
    for name, returns in GUARDS.items():
        found[name] = compiled(project, WITHOUT_CONTAINERS | returns)
    return found | {SCRIPT: events_sql(shape, "records")}


def measured(queries: Mapping[str, str], session: SparkSession, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds and processor seconds of each query, by round; the first round, which compiles, is left out.

    Args:
        queries: SQL by name.
        session: to run them.
        rounds: how often each counts.
    """
    found: dict[str, dict[str, list[float]]] = {name: {"seconds": [], "cpu_seconds": []} for name in queries}
    for number in range(rounds + 1):
        for name in queries if number % 2 else reversed(list(queries)):
            cpu, started = cpu_seconds(os.getpid()), time.monotonic()
            session.sql(queries[name]).write.format("noop").mode("overwrite").save()
            if number:
                found[name]["seconds"].append(round(time.monotonic() - started, 3))
                found[name]["cpu_seconds"].append(round(cpu_seconds(os.getpid()) - cpu, 3))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measures, writes the result and prints it."""
    parser = argparse.ArgumentParser(prog="benchmarks.guards", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--events", type=int, default=250_000, help="of the first load")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions; the figures are medians")
    parser.add_argument("--json", type=Path, default=RESULT, metavar="FILE", help="where the figures are written")
    options = parser.parse_args(arguments)
    shape = Shape(options.events)
    with working_folder("guards") as folder:
        stream = Stream(shape, folder / "landing" / "topics")
        stream.land()
        session = Alluvium.start(folder)
        system = Alluvium(Place(folder, stream.folder, shape, ENTITY), session)
        system.prepare()
        alluvium_build.build(system.project, "--select", CHANGE_LOG)
        found = queries(system.project, stream.folder, shape, session)
        result = runner.environment() | {
            "events": options.events,
            "queries": measured(found, session, options.rounds),
        }
        session.stop()
    options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, cost, of_guard in Results({}, {}, result).guard_costs():
        print(f"{name:<40}{cost:>8.1f}{of_guard:>8.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
