"""dbt's commands that only render, against a warehouse that lists its tables and answers nothing else.

Run as a program: the arguments are dbt's, COMPILED_SENT names the file for the statements that were sent, and
COMPILED_TABLES the tables.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dbt.adapters.spark import session as dbt_session
from dbt.cli.main import dbtRunner

from alluvium.runtime import session

REPOSITORY = Path(__file__).resolve().parents[3]
LISTING = re.compile(r"show table extended in (\S+) like '\*'")


@dataclass(frozen=True)
class Compiled:
    """What a command did.

    Attributes:
        output: what dbt said.
        code: dbt's exit code.
        queries: the statements that it sent, but those that list the tables of a schema.
    """

    output: str
    code: int
    queries: list[str]


def compiled(project: Path, out: Path, *arguments: str, tables: Iterable[str] = ()) -> Compiled:
    """Run a command in a process of its own, since dbt keeps state per process; what it writes is in `out`."""
    paths = ["--project-dir", project, "--profiles-dir", project, "--target-path", out, "--log-path", out]
    done = subprocess.run(
        [sys.executable, __file__, "--log-format", "json", *arguments, *map(str, paths)],
        cwd=out,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "COMPILED_SENT": str(out / "sent.json"),
            "COMPILED_TABLES": " ".join(tables),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    sent = json.loads((out / "sent.json").read_text("utf-8"))
    return Compiled(done.stdout, done.returncode, [sql for sql in sent if not LISTING.fullmatch(sql)])


class Cursor(dbt_session.Cursor):
    """Of a warehouse that lists its tables, the same ones in each schema."""

    sent: ClassVar[list[str]] = []
    tables: ClassVar[list[str]] = []

    def execute(self, sql: str, *_: Any) -> None:
        """Notes the statement."""
        self.statement = re.sub(r"/\*.*?\*/", "", sql, flags=re.DOTALL).strip()
        self.sent.append(self.statement)

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]]:
        """Of the listing."""
        names = ("namespace", "tableName", "isTemporary", "information") if LISTING.fullmatch(self.statement) else ()
        return [(name, "string", None, None, None, None, True) for name in names]

    def fetchall(self) -> list[Any]:
        """No rows of anything else."""
        listing = LISTING.fullmatch(self.statement)
        tables = self.tables if listing else []
        return [(listing and listing[1], name, False, "Type: MANAGED\nProvider: delta\n") for name in tables]


def main() -> int:
    """What dbt's exit code would be."""
    dbt_session.Cursor = Cursor  # type: ignore[misc]
    session.get_or_create = lambda *_: None  # type: ignore[assignment]
    Cursor.tables.extend(os.environ["COMPILED_TABLES"].split())
    ran = dbtRunner().invoke(sys.argv[1:])
    Path(os.environ["COMPILED_SENT"]).write_text(json.dumps(Cursor.sent), "utf-8")
    return 0 if ran.success else 1


if __name__ == "__main__":
    sys.exit(main())
