"""Writes docs/transcript.md: what the command line and dbt print on the samples, in a new project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "transcript.md"
SAMPLES = REPOSITORY / "samples" / "pg-envelope-json-schemas"
WITHOUT_SPARK = (
    "alluvium new warehouse",
    "alluvium inspect landing",
    "alluvium doctor landing --connector connector.json",
    "alluvium scaffold landing --source shop",
    r"sed -i -e '/- name: total$/a\            data_type: decimal(14,2)' "
    r"-e '/- name: due$/,/data_type/s/bigint/date/' "
    r"-e '/- name: products$/,/columns:/s/^\( *\)replica_identity/\1key: [sku]\n&/' "
    "models/bronze/shop/_shop__sources.yml",
)
WITH_SPARK = (
    "dbt build",
    'alluvium sql -e "select * from silver.slv_shop__orders order by order_no limit 5"',
)
HEADING = """# From a folder of change files to tables

What a terminal shows, recorded with `make transcript` on the [samples](../samples/README.md): files of four topics that
Debezium wrote for a PostgreSQL database, in the layouts of four sinks, below `landing`.
"""


def transcript(folder: Path, commands: tuple[str, ...]) -> str:
    """Run commands as somebody would at a terminal 110 columns wide; what was typed and printed, as Markdown.

    Args:
        folder: to be in; `alluvium new` makes the project in it, which the later commands are run in.
        commands: one after the other.

    Raises:
        subprocess.CalledProcessError: a command ended with another status than 0, or 3 of the doctor.
    """
    text = ""
    for command in commands:
        project = folder / "warehouse"
        text += f"\n```text\n$ {command}\n{run(command, project if project.exists() else folder, folder)}```\n"
        if command.startswith("alluvium new"):
            shutil.copytree(SAMPLES / "bronze", project / "landing")
            shutil.copy(SAMPLES / "connector.json", project)
    return text


def run(command: str, directory: Path, root: Path) -> str:
    """What a command prints, without the folder that it was run below and dbt's clock."""
    words = shlex.split(command)
    program = words[0] if words[0] == "sed" else Path(sys.executable).parent / words[0]
    environment = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1", "DBT_USE_COLORS": "false"}
    done = subprocess.run(
        [str(program), *words[1:]],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in ((0, 3) if words[1] == "doctor" else (0,)):
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line).rstrip() for line in done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines).replace(f"{root}/", "").replace(str(REPOSITORY), "...")


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        PAGE.write_text(HEADING + transcript(root, (*WITHOUT_SPARK, *WITH_SPARK)), encoding="utf-8")


if __name__ == "__main__":
    main()
