"""One process of the kill suite: finishes what a killed one left, then builds once more until it kills itself.

Started by :mod:`kills.test_kills` as the leader of a session of its own, so that SIGKILL ends its JVM with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dbt.adapters.spark.session import Cursor
from dbt.cli.main import dbtRunner

# Statements that change what outlives the session; a run that is killed before any other one is the run that was killed
# before the next of these.
# The merge of dbt-spark (1.11.0) begins with a comment of one line.
COMMENTS = re.compile(r"(\s|/\*.*?\*/|--[^\n]*\n)*", re.S)
WRITES = re.compile(r"(insert|merge|update|delete|alter|drop|create(?! or replace temporary))\b", re.I)
# Of these, the ones that make a table: they end with the catalog's entry, after the commit.
MAKES_A_TABLE = re.compile(r"create (or replace )?table\b.*\busing (delta|hudi)\b", re.I | re.S)
COMMITS = ("_delta_log/*.json", ".hoodie/hoodie.properties")


def die() -> None:
    """End this process and its JVM at once."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


class Killer:
    """Kills the process at the n-th statement that writes.

    Attributes:
        at: which one, from 1; 0 kills at none.
        moment: ``before`` kills before the statement runs; ``during`` once it has put a file into the warehouse, or
            after it; ``committed``, for statements that make a table alone, once they have committed, before the
            catalog has the table.
        warehouse: folder of the tables.
        journal: file that the text of each such statement is written to before it runs.
        count: statements so far.
    """

    def __init__(self, at: int, moment: str, warehouse: Path, journal: Path) -> None:
        self.at = at
        self.moment = moment
        self.warehouse = warehouse
        self.journal = journal
        self.count = 0

    def files(self) -> set[Path]:
        """Files of the tables, or their commits."""
        patterns = COMMITS if self.moment == "committed" else ("*",)
        return {path for pattern in patterns for path in self.warehouse.rglob(pattern) if path.is_file()}

    def watch(self, before: set[Path]) -> None:
        """Kill as soon as a file is there that was not."""
        while not self.files() - before:
            time.sleep(0.002)
        die()

    def install(self) -> None:
        """Wrap the method of dbt-spark that every statement goes through."""
        original = Cursor.execute

        def execute(cursor: Cursor, sql: str, *parameters: Any) -> None:
            chosen = False
            statement = COMMENTS.sub("", sql, count=1)
            if (MAKES_A_TABLE if self.moment == "committed" else WRITES).match(statement):
                self.count += 1
                chosen = self.count == self.at
                with self.journal.open("a", encoding="utf-8") as journal:
                    journal.write(json.dumps(re.sub(r"\s+", " ", statement).strip()) + "\n")
            if chosen and self.moment == "before":
                die()
            if chosen:
                threading.Thread(target=self.watch, args=[self.files()], daemon=True).start()
            original(cursor, sql, *parameters)
            if chosen:
                die()

        Cursor.execute = execute  # type: ignore[assignment, method-assign]  # the statement counter stands in


def build(project: Path, *options: str) -> None:
    """`dbt build`; every node has to pass."""
    arguments = ["--project-dir", str(project), "--profiles-dir", str(project), "--quiet", *options]
    result = dbtRunner().invoke(["build", *arguments])
    if not result.success:
        nodes = getattr(result.result, "results", None) or []
        raise SystemExit(f"{result.exception} {[str(node.message) for node in nodes if node.message]}"[:3000])


def dump(target: Path, tables: list[str]) -> None:
    """Write the rows of the tables without Hudi's own columns, as JSON texts, sorted."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    assert spark is not None
    left = {row.tableName for row in spark.sql("show tables in silver").collect() if not row.isTemporary}
    rows = {}
    for table in tables:
        found = spark.table(table)
        kept = [f"`{name}`" for name in found.columns if not name.startswith("_hoodie_")]
        rows[table] = sorted(found.select(*kept).toJSON().collect())
    target.write_text(json.dumps({"rows": rows, "silver": sorted(left)}), encoding="utf-8")


def main(plan: dict[str, Any]) -> None:
    """Do what the plan says.

    Args:
        plan: ``project``, ``variables`` of dbt, ``warehouse``, ``landing``, ``tables``, ``dump`` (path) and ``steps``:
            each a dict with ``land`` (folder to copy into the landing folder, or None), ``options`` of `dbt build`, and
            ``at``, ``moment``, ``journal`` of its kill; a step with ``at`` 0 is built to its end and its tables are
            dumped to ``dump``.
    """
    for step in plan["steps"]:
        if step["land"]:
            shutil.copytree(step["land"], plan["landing"], dirs_exist_ok=True)
        if step["at"]:
            Killer(step["at"], step["moment"], Path(plan["warehouse"]), Path(step["journal"])).install()
        build(Path(plan["project"]), "--vars", plan["variables"], *step["options"])
        if not step["at"]:
            dump(Path(plan["dump"]), plan["tables"])


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
