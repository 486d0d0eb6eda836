"""`make bench-entities`: a build of many small tables, and one with nothing new, without tests, on a running server.

Each table has five models: log, quarantine, state, current rows and history. The seconds are those of the whole
`dbt build`, Python and parsing too.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from alluvium.server import hosting
from benchmarks import runner
from benchmarks.generator import Shape, Stream
from benchmarks.project import CHANGE_LOG, LIVING, STATE, working_folder, write_project
from benchmarks.summary import IDLE
from benchmarks.targets import run, served

ROWS = 10
MODELS = (CHANGE_LOG, CHANGE_LOG.replace("stg_", "qrn_"), STATE, LIVING, f"{LIVING}_history")


def main(arguments: list[str] | None = None) -> int:
    """Build twice on a server of its own, and print the seconds."""
    parser = argparse.ArgumentParser(prog="benchmarks.many_entities", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures, for `make performance`")
    options = parser.parse_args(arguments)
    entities = [f"table_{number}" for number in range(options.entities)]
    with working_folder("entities") as folder:
        for entity in entities:
            Stream(Shape(ROWS, partitions=1), folder / "landing" / entity, entity).land()
        write_project(folder / "project", folder / "landing", entities, MODELS)
        environment = os.environ | {
            "ALLUVIUM_HOME": str(folder / "home"),
            "ALLUVIUM_THRIFT_PORT": str(hosting.free_port()),
        }

        def build() -> float:
            started = time.monotonic()
            command = ("dbt", "--quiet", "build", "--target", "thrift", "--threads", "2")
            run(environment, *command, project=folder / "project")
            return time.monotonic() - started

        with served("thrift", environment, folder / "project"):
            first, nothing_new = build(), build()
        if options.json:
            options.json.write_text(
                json.dumps(result(options.entities, first, nothing_new), indent=1) + "\n", encoding="utf-8"
            )
        models = len(entities) * len(MODELS)
        print(f"{len(entities)} tables, {models} models: first {first:.0f} s, nothing new {nothing_new:.0f} s")
    return 0


def result(entities: int, first: float, nothing_new: float) -> dict[str, Any]:
    """The figures in the form of `runner.run`.

    Args:
        entities: number of tables.
        first: seconds of the first build.
        nothing_new: seconds of the second one.
    """
    rows = entities * ROWS
    builds = (("first load", rows, first), (IDLE, 0, nothing_new))
    batches = [
        {"batch": number, "phase": phase, "events": events, "changed": events, "seconds": seconds}
        for number, (phase, events, seconds) in enumerate(builds)
    ]
    landed = [
        {"phase": phase, "files": entities if events else 0, "events": events, "size": 0, "changed": events}
        for phase, events, _ in builds
    ]
    shows = f"{entities} tables with five models each, on a Thrift server; the whole `dbt build`"
    phases = [{"name": IDLE, "batches": 1}]
    scenario = {"shows": shows, "shape": {"rows": rows}, "systems": ["alluvium"], "phases": phases}
    rounds = [{"batches": batches, "failed": ""}]
    return runner.environment() | {
        "scenario": scenario | {"session": "warm", "memory": "2g"},
        "cases": [{"format": "json", "landed": landed, "systems": {"alluvium": {"rounds": rounds}}}],
    }


if __name__ == "__main__":
    raise SystemExit(main())
