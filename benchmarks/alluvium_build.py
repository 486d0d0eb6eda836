"""`dbt build` of the benchmark's project, in a process with a running session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


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
