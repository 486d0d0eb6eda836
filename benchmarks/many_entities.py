"""`make bench-entities`: a build of many small tables, and one with nothing new, without tests, on a running server.

Each table has five models: log, quarantine, state, current rows and history. The seconds are those of the whole
`dbt build`, Python and parsing too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from alluvium.server import hosting
from benchmarks.generator import initial_lines
from benchmarks.project import CHANGE_LOG, LIVING, SOURCE, STATE, write_project
from benchmarks.targets import run

ROWS = 10
MODELS = (CHANGE_LOG, CHANGE_LOG.replace("stg_", "qrn_"), STATE, LIVING, f"{LIVING}_history")


def main(arguments: list[str] | None = None) -> int:
    """Build twice on a server of its own, and print the seconds."""
    parser = argparse.ArgumentParser(prog="benchmarks.many_entities", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--entities", type=int, default=100)
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="alluvium-entities-"))
    entities = [f"table_{number}" for number in range(options.entities)]
    lines = "".join(f"{line}\n" for _, line in initial_lines(ROWS, seed=1))
    for entity in entities:
        (folder / "landing" / entity).mkdir(parents=True)
        (folder / "landing" / entity / f"{SOURCE}.public.{entity}+0+0.json").write_text(lines, encoding="utf-8")
    write_project(folder / "project", folder / "landing", entities, MODELS)
    environment = os.environ | {
        "ALLUVIUM_HOME": str(folder / "home"),
        "ALLUVIUM_THRIFT_PORT": str(hosting.free_port()),
    }

    def seconds(program: str, *arguments: str) -> float:
        started = time.monotonic()
        run(environment, program, *arguments, project=folder / "project")
        return time.monotonic() - started

    build = ("dbt", "--quiet", "build", "--target", "thrift", "--threads", "2")
    try:
        seconds("alluvium", "serve", "start")
        first, nothing_new = seconds(*build), seconds(*build)
        models = len(entities) * len(MODELS)
        print(f"{len(entities)} tables, {models} models: first {first:.0f} s, nothing new {nothing_new:.0f} s")
    finally:
        seconds("alluvium", "serve", "stop")
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
