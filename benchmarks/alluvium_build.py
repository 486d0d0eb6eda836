"""One `dbt build` of the benchmark's project, in a process of its own; its figures as JSON on a file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import side
from benchmarks.project import CHANGE_LOG, LISTING, LIVING


def build(project: Path) -> dict[str, Any]:
    """Runs `dbt build`; the session runs already, dbt is imported already.

    Returns:
        `seconds` of the whole command, and `models`, seconds by model.

    Raises:
        SystemExit: dbt failed.
    """
    from dbt.cli.main import dbtRunner

    runner = dbtRunner()
    started = time.monotonic()
    outcome = runner.invoke(["--quiet", "build", "--project-dir", str(project), "--profiles-dir", str(project)])
    seconds = time.monotonic() - started
    if not outcome.success:
        sys.exit(f"bench-smoke: dbt build failed: {outcome.exception or 'see above'}")
    results: Any = outcome.result
    models = {result.node.name: result.execution_time for result in results if result.node.resource_type == "model"}
    return {"seconds": seconds, "models": models}


def fill_ledger(spark: Any) -> int:
    """Enters each listed file that the ledger lacks, as if the first batch had brought it; returns its row count."""
    spark.sql(f"refresh table {LISTING}")
    spark.sql(f"""
        insert into silver.cdc_file_ledger
        select
            'silver.{CHANGE_LOG}', _metadata.file_path, _metadata.file_size, _metadata.file_modification_time,
            1, 1, 0, 0, 1, current_timestamp()
        from {LISTING}
        where not exists (select 1 from silver.cdc_file_ledger as known where known.file_path = _metadata.file_path)
    """)
    return int(spark.table("silver.cdc_file_ledger").count())


def main(arguments: list[str]) -> None:
    """Runs one step; the arguments are the step (build, fill), the project, the home and the file for the figures."""
    step, project, home, figures = arguments[0], *map(Path, arguments[1:])
    spark = side.session(home)
    if step == "fill":
        found: dict[str, Any] = {"ledger_rows": fill_ledger(spark)}
    else:
        found = build(project) | side.content(spark, f"silver.{LIVING}")
    figures.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
