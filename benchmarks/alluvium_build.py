"""`dbt build` of the benchmark's project, in a process with a running session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.project import CHANGE_LOG, LISTING


def build(project: Path, *arguments: str) -> dict[str, Any]:
    """Runs `dbt build`; the session runs already.

    Args:
        project: its directory.
        arguments: further ones of `dbt build`.

    Returns:
        `seconds` of the whole command, and `models`, seconds by model.

    Raises:
        RuntimeError: dbt failed.
    """
    started = time.monotonic()
    results: Any = invoke(project, "build", *arguments)
    seconds = time.monotonic() - started
    models = {result.node.name: result.execution_time for result in results if result.node.resource_type == "model"}
    return {"seconds": seconds, "models": models}


def invoke(project: Path, command: str, *arguments: str) -> Any:
    """Runs a dbt command in this process and returns its result.

    Args:
        project: directory of the project, which has its profile.
        command: such as `build`.
        arguments: of the command.

    Raises:
        RuntimeError: dbt failed.
    """
    from dbt.cli.main import dbtRunner

    places = ("--project-dir", str(project), "--profiles-dir", str(project))
    outcome = dbtRunner().invoke(["--quiet", command, *places, *arguments])
    if not outcome.success:
        raise RuntimeError(f"dbt {command} failed: {outcome.exception or 'see above'}")
    return outcome.result


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
