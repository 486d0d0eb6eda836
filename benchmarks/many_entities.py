"""`make bench-entities`: a build of many small tables, and one with nothing new, without tests, on a running server.

Each table has five models: log, quarantine, state, current rows and history. The seconds are those of the whole
`dbt build`, Python and parsing too.
"""

from __future__ import annotations

import argparse
import os
import time

from alluvium.server import hosting
from benchmarks.generator import initial_lines
from benchmarks.project import CHANGE_LOG, LIVING, SOURCE, STATE, working_folder, write_project
from benchmarks.targets import run, served

ROWS = 10
MODELS = (CHANGE_LOG, CHANGE_LOG.replace("stg_", "qrn_"), STATE, LIVING, f"{LIVING}_history")


def main(arguments: list[str] | None = None) -> int:
    """Build twice on a server of its own, and print the seconds."""
    parser = argparse.ArgumentParser(prog="benchmarks.many_entities", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--entities", type=int, default=100)
    options = parser.parse_args(arguments)
    entities = [f"table_{number}" for number in range(options.entities)]
    lines = "".join(f"{line}\n" for _, line in initial_lines(ROWS, seed=1))
    with working_folder("entities") as folder:
        for entity in entities:
            (folder / "landing" / entity).mkdir(parents=True)
            (folder / "landing" / entity / f"{SOURCE}.public.{entity}+0+0.json").write_text(lines, encoding="utf-8")
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
        models = len(entities) * len(MODELS)
        print(f"{len(entities)} tables, {models} models: first {first:.0f} s, nothing new {nothing_new:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
